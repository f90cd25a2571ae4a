"""Models, twins and relationships of files, folders and documents."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import twinframe
from tests.unit.library.worlds import LAMP, MODELS, ROOM, lamp, room
from twinframe.errors import InvalidArgument

ROOMS = [{"$dtId": f"r{n}", **room(seats=n)} for n in range(3)]
LAMPS = [{"$dtId": "l", **lamp(level=1)}]
ENDS = [("r0", "has", "l"), ("r0", "next", "r1"), ("r1", "next", "r2")]
EDGES = [
    {"$sourceId": a, "$relationshipId": f"{a}-{b}", "$relationshipName": name, "$targetId": b}
    for a, name, b in ENDS
]


@pytest.fixture
def empty() -> Any:
    """A graph without models."""
    with twinframe.open() as graph:
        yield graph


def write(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


def count(loaded: Any) -> tuple[int, ...]:
    return loaded.models, loaded.skipped, loaded.twins, loaded.relationships, loaded.errors


def read_all(graph: Any) -> Any:
    edges = graph.query("MATCH (a)-[r]->(b) RETURN a.`$dtId` AS a, type(r) AS r, b.`$dtId` AS b")
    ends = sorted((row["a"], row["r"], row["b"]) for row in edges)
    return sorted(twin["$dtId"] for twin in graph.list_twins()), ends


WHOLE = ["l", "r0", "r1", "r2"], sorted(ENDS)


def test_a_folder_is_loaded_whatever_the_names_of_its_files(empty: Any, tmp_path: Path) -> None:
    write(tmp_path / "a" / "edges.json", EDGES)
    write(tmp_path / "b.json", ROOMS)
    for at, model in enumerate(MODELS):
        write(tmp_path / "z" / f"{at}.json", model)
    lines = [{"Section": "Header"}, {"fileVersion": "1.0.0"}, {"Section": "Twins"}, *LAMPS]
    packed = gzip.compress("\n".join(map(json.dumps, lines)).encode())
    (tmp_path / "lamps.ndjson.gz").write_bytes(packed)
    (tmp_path / "README.md").write_text("Not for us.", encoding="utf-8")
    assert count(empty.load(tmp_path)) == (3, 0, 4, 3, 0)
    assert read_all(empty) == WHOLE
    assert count(empty.load(tmp_path)) == (0, 3, 4, 3, 0)
    assert read_all(empty) == WHOLE


def test_documents_are_loaded_in_any_order(graph: Any) -> None:
    """In both forms of the library, with models that are there already."""
    loaded = graph.load(iter([*EDGES, *LAMPS, *MODELS, *ROOMS]))
    assert count(loaded) == (0, 3, 4, 3, 0)
    assert read_all(graph) == WHOLE


def test_a_file_of_an_export_is_loaded(graph: Any, empty: Any, tmp_path: Path) -> None:
    graph.load([*ROOMS, *LAMPS, *EDGES])
    graph.export_file(tmp_path / "all.ndjson")
    assert count(empty.load(tmp_path / "all.ndjson")) == (3, 0, 4, 3, 0)
    assert read_all(empty) == WHOLE


def test_what_is_refused_is_named_by_its_place_and_the_rest_is_stored(
    empty: Any, tmp_path: Path
) -> None:
    write(tmp_path / "models.json", MODELS)
    write(tmp_path / "twins.json", [ROOMS[0], {**ROOMS[1], "seats": "many"}, ROOMS[2]])
    write(tmp_path / "edges.json", EDGES[2])
    loaded = empty.load(tmp_path)
    assert count(loaded) == (3, 0, 2, 0, 2)
    told = [str(one) for one in loaded.refused]
    assert told[0].startswith(f"{tmp_path / 'twins.json'}, document 2: ")
    assert "seats" in told[0]
    assert told[1].startswith(f"{tmp_path / 'edges.json'}, document 1: ")
    given = empty.load([ROOMS[0], {**ROOMS[1], "seats": 2.5}])
    assert str(given.refused[0]).startswith("document 2: ")
    many = empty.load({**ROOMS[0], "seats": "x"} for _ in range(150))
    assert (many.errors, len(many.refused)) == (150, 100)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([ROOMS[0], {"name": "x"}], "document 2 is no model (@id), no twin ($dtId)"),
        (["x"], "document 1 is no model"),
        ({"$dtId": "r", "name": "\ud800"}, "U+D800"),
    ],
)
def test_what_is_no_document_changes_nothing(
    graph: Any, tmp_path: Path, document: Any, told: str
) -> None:
    write(tmp_path / "a.json", document)
    with pytest.raises(InvalidArgument) as refused:
        graph.load(tmp_path)
    assert told in str(refused.value)
    assert str(tmp_path / "a.json") in str(refused.value)
    assert graph.list_twins() == []


def test_a_folder_with_nothing_to_load_and_a_missing_file_are_errors(
    graph: Any, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgument, match="no file to load"):
        graph.load(tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        graph.load(tmp_path / "nothing.json")
    assert [one["id"] for one in graph.list_models()][:2] == [ROOM, LAMP]
