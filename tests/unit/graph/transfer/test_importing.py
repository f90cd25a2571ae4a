"""Files into graphs: what is stored, what is refused and where, and how it goes on."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.unit.graph.conftest import World, build_sqlite
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    ImportFileInvalid,
    MemoryExhausted,
    MemoryLimitExceeded,
    ModelAlreadyExists,
    ModelParsingFailed,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.models import uploads
from twinframe.graph.models.uploads import PIECE_MODELS, parse_upload
from twinframe.graph.transfer import importing as importing_module
from twinframe.graph.transfer.exporting import write_graph
from twinframe.graph.transfer.importing import FileReader, Importer, RawChunk
from twinframe.graph.transfer.progress import BEGIN, Finding, Progress, load_progress
from twinframe.runtime.memory import MemoryAccount, Part
from twinframe.settings import Settings
from twinframe.settings.jobs import JobsSettings
from twinframe.storage.base import GraphStore, GraphTransaction
from twinframe.testing.contracts.base import reading
from twinframe.testing.factories import (
    FLOOR,
    ROOM,
    SENSOR,
    SPACE,
    build_building_interfaces,
    build_interface,
    build_twin_document,
)


class File:
    """Lines of a file, put together."""

    def __init__(self, header: object = None) -> None:
        self.lines: list[object] = [{"Section": "Header"}, header or {"fileVersion": "1.0.0"}]

    def section(self, name: str, *documents: object) -> File:
        self.lines += [{"Section": name}, *documents]
        return self

    def models(self, *documents: object) -> File:
        return self.section("Models", *(documents or build_building_interfaces()))

    def twin(self, twin_id: str, model: str = ROOM, **members: Any) -> dict[str, Any]:
        return {"$dtId": twin_id, **build_twin_document(model, **members)}

    def edge(self, source: str, key: str, target: str, name: str = "relatedTo") -> dict[str, Any]:
        return {
            "$dtId": source,
            "$relationshipId": key,
            "$targetId": target,
            "$relationshipName": name,
        }

    def render(self) -> bytes:
        return b"".join(
            (line if isinstance(line, bytes) else orjson.dumps(line)) + b"\n" for line in self.lines
        )


class Importing:
    """An importer over a store, and what it found."""

    def __init__(self, store: GraphStore, **jobs: Any) -> None:
        self.settings = Settings(jobs=JobsSettings(**jobs))
        self.context = GraphContext(InlineRunner(store), self.settings)
        self.findings: list[Finding] = []
        self.reports: list[Progress] = []

    async def run(self, text: bytes, start: Progress = BEGIN) -> Progress:
        return await self.run_source(io.BytesIO(text), start)

    async def run_source(self, source: io.BytesIO, start: Progress = BEGIN) -> Progress:
        def report(progress: Progress, findings: Sequence[Finding]) -> None:
            self.findings += findings
            self.reports.append(progress)

        importer = Importer(self.context, self.keep, report)
        return await importer.run(source, start)

    def keep(
        self, transaction: GraphTransaction, progress: Progress, _findings: Sequence[Finding]
    ) -> None:
        transaction.put_entry("progress", "1", orjson.dumps(progress.render()))


def run(world: World, text: bytes, **jobs: Any) -> tuple[Progress, list[Finding]]:
    importing = Importing(world.store, **jobs)
    return world.do(importing.run(text)), importing.findings


def export(store: GraphStore, **more: Any) -> bytes:
    session, out = store.session(), io.BytesIO()
    with session.snapshot():
        write_graph(session, out.write, **more)
    session.close()
    return out.getvalue()


def whole() -> File:
    file = File().models()
    file.section("Twins", file.twin("r1", temperature=1.5), file.twin("s", SENSOR))
    return file.section("Relationships", file.edge("r1", "e", "s", "watchedBy"))


@pytest.mark.parametrize(("most", "expected"), [(3, ["called"]), (4, [])])
def test_an_import_of_many_rows_ends_with_new_statistics(
    empty: World, monkeypatch: pytest.MonkeyPatch, most: int, expected: list[str]
) -> None:
    called: list[str] = []
    monkeypatch.setattr(importing_module, "_MANY_ROWS", most)
    monkeypatch.setattr(empty.store, "refresh_statistics", lambda: called.append("called"))
    assert run(empty, whole().render())[0].rows == 3
    assert called == expected


def test_models_twins_and_relationships_are_stored(empty: World) -> None:
    progress, findings = run(empty, whole().render())
    assert findings == []
    assert (progress.models, progress.twins, progress.relationships) == (6, 2, 1)
    twin = empty.read("r1")
    assert twin["temperature"] == 1.5
    assert twin["$metadata"]["temperature"].keys() == {"lastUpdateTime"}
    stored = empty.do(empty.graph.relationships.read_relationship("r1", "e"))
    assert empty.load(stored.body)["$targetId"] == "s"
    assert "$dtId" not in empty.load(stored.body)


def test_an_import_can_be_repeated(empty: World) -> None:
    run(empty, whole().render())
    progress, findings = run(empty, whole().render())
    assert findings == []
    assert (progress.models, progress.skipped, progress.twins) == (0, 6, 2)


def build_graph_file(**more: Any) -> dict[str, Any]:
    """A graph as the vendor's explorer saves it: with etags, and the models last."""
    file = File()
    edge = {"$sourceId": "r1", "$etag": 'W/"1"', **file.edge("r1", "e", "s", "watchedBy")}
    del edge["$dtId"]
    twins = [file.twin("r1", temperature=1.5), file.twin("s", SENSOR)]
    return {
        "digitalTwinsFileInfo": {"fileVersion": "1.0.0"},
        "digitalTwinsGraph": {
            "digitalTwins": [{"$etag": 'W/"1"', **twin} for twin in twins],
            "relationships": [edge],
        },
        "digitalTwinsModels": build_building_interfaces(),
        **more,
    }


class Dribble(io.BytesIO):
    """A source that gives a few bytes at a time."""

    def read(self, _size: int | None = -1, /) -> bytes:
        return super().read(5)


@pytest.mark.parametrize("source", [io.BytesIO, Dribble])
@pytest.mark.parametrize("option", [0, orjson.OPT_INDENT_2])
def test_a_graph_of_the_vendors_explorer_is_imported(
    empty: World, option: int, source: type[io.BytesIO]
) -> None:
    importing = Importing(empty.store)
    text = orjson.dumps(build_graph_file(), option=option)
    progress = empty.do(importing.run_source(source(text)))
    assert importing.findings == []
    assert importing.context.memory.read_held(Part.IMPORTS) == 0
    assert (progress.models, progress.twins, progress.relationships) == (6, 2, 1)
    assert empty.read("r1")["temperature"] == 1.5
    assert export(empty.store).count(b"\n") == 6 + 2 + 1 + 5


def test_a_graph_of_the_vendors_explorer_may_be_compressed_and_have_refused_twins(
    empty: World,
) -> None:
    document = build_graph_file()
    document["digitalTwinsGraph"]["digitalTwins"].append({"$dtId": "bad", "$metadata": {}})
    progress, findings = run(empty, gzip.compress(orjson.dumps(document)))
    assert [(finding.path, finding.item) for finding in findings] == [
        ("digitalTwinsGraph.digitalTwins[2]", "bad")
    ]
    rendered = findings[0].render()
    assert (rendered["path"], "line" in rendered) == ("digitalTwinsGraph.digitalTwins[2]", False)
    assert progress.twins == 2


def test_what_is_refused_of_a_graph_of_the_vendors_explorer_is_named_by_its_path(
    empty: World,
) -> None:
    document = build_graph_file()
    graph = document["digitalTwinsGraph"]
    graph["relationships"] += [{**graph["relationships"][0], "$targetId": "gone"}]
    del document["digitalTwinsFileInfo"]
    _, findings = run(empty, orjson.dumps(document))
    assert [finding.position for finding in findings] == ["digitalTwinsGraph.relationships[1]"]
    again = File().models().section("Relationships", File().edge("r1", "e", "gone"))
    _, findings = run(empty, again.render())
    assert [finding.position for finding in findings] == [f"line {len(again.lines)}"]


def test_a_graph_of_the_vendors_explorer_that_breaks_off_says_at_which_path(empty: World) -> None:
    document = build_graph_file(digitalTwinsModels=[*build_building_interfaces(), {"a": 1}])
    with pytest.raises(ImportFileInvalid) as caught:
        run(empty, orjson.dumps(document))
    assert str(caught.value) == "digitalTwinsModels[6]: The model has no @id."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"digitalTwinsFileInfo": {"fileVersion": "1.0.0"}', "The file is no JSON"),
        (b'{"digitalTwinsGraph": []}', "'digitalTwinsGraph' must be an object"),
        (b'{"digitalTwinsGraph": {"digitalTwins": {}}}', "'digitalTwins' must be an array"),
        (b'{"digitalTwinsModels": 1}', "'digitalTwinsModels' must be an array"),
        (b'{"digitalTwinsFileInfo": 7}', "^digitalTwinsFileInfo: The header must be an object"),
        (b'{"digitalTwinsFileInfo": {"fileVersion": "2.0"}}', "The file is of version '2.0'"),
        (b'{"digitalTwinsModels": [' + b" " * (33 << 20) + b"]}", "at most 33554432 bytes"),
    ],
)
def test_a_graph_file_that_is_wrong_is_refused_with_the_reason(
    empty: World, text: bytes, said: str
) -> None:
    with pytest.raises(ImportFileInvalid, match=said):
        run(empty, text)


@pytest.mark.parametrize("members", [1, 3])
def test_gzip_is_read_also_of_several_members(empty: World, members: int) -> None:
    text = whole().render()
    size = len(text) // members + 1
    parts = [gzip.compress(text[at : at + size]) for at in range(0, len(text), size)]
    progress, findings = run(empty, b"".join(parts) + b"\0" * 512)
    assert findings == []
    assert progress.twins == 2


def test_blank_lines_without_end_break_the_file(
    empty: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twinframe.graph.transfer.importing._MOST_BLANK", 50)
    text = whole().render()
    few = text.replace(b"\n", b"\n \r\n" * 10)
    assert run(empty, few)[0].relationships == 1
    with pytest.raises(ImportFileInvalid, match="More than 50 blank lines") as caught:
        run(empty, gzip.compress(text + b"\n" * 100))
    assert caught.value.line == text.count(b"\n") + 51


def test_a_byte_order_mark_and_carriage_returns_are_overlooked(empty: World) -> None:
    text = b"\xef\xbb\xbf" + whole().render().replace(b"\n", b"\r\n")
    progress, findings = run(empty, text)
    assert (progress.twins, findings) == (2, [])


def test_each_refused_line_is_told_and_the_others_are_stored(empty: World) -> None:
    file = File().models()
    file.section(
        "Twins",
        file.twin("r1", temperature="hot"),
        b"{not json",
        file.twin("r2"),
        {"$metadata": {"$model": ROOM}},
        file.twin("bad\u0001id"),
        {"$dtId": "r3"},
        file.twin("r4", "dtmi:com:example:Absent;1"),
        b"",
        [1],
        file.twin("s", SENSOR),
    )
    file.section(
        "Relationships",
        file.edge("r2", "e1", "absent"),
        file.edge("absent", "e2", "r2"),
        file.edge("r2", "e3", "r2"),
        file.edge("r2", "e4", "s", "unknown"),
        file.edge("s", "e5", "r2", "watchedBy"),
        {"$dtId": "r2", "$relationshipId": "e6"},
        {**file.edge("r2", "e7", "s", "watchedBy"), "since": 5},
        file.edge("r2", "e8", "s", "watchedBy"),
    )
    text = file.render()
    progress, findings = run(empty, text, chunk_rows=3)
    lines = text.split(b"\n")
    assert [(one.code, one.item) for one in findings] == [
        ("ValidationFailed", "r1"),
        ("InvalidArgument", ""),
        ("ValidationFailed", ""),
        ("InvalidArgument", "bad\u0001id"),
        ("ValidationFailed", "r3"),
        ("ValidationFailed", "r4"),
        ("InvalidArgument", ""),
        ("TargetDigitalTwinNotFound", "e1 of r2"),
        ("DigitalTwinNotFound", "e2 of absent"),
        ("OperationNotAllowed", "e3 of r2"),
        ("InvalidRelationship", "e4 of r2"),
        ("InvalidRelationship", "e5 of s"),
        ("InvalidArgument", "e6 of r2"),
        ("ValidationFailed", "e7 of r2"),
    ]
    for one in findings:
        # Each finding names the line on which its item stands.
        shown = one.item.partition(" of ")[0]
        if one.item and "\u0001" not in shown:
            assert shown.encode() in lines[one.line - 1]
    assert (progress.errors, progress.twins, progress.relationships) == (14, 2, 1)


def test_chunks_of_any_size_give_the_same_graph(tmp_path: Path) -> None:
    file = File().models()
    file.section("Twins", *(file.twin(f"r{at}", temperature=at / 3) for at in range(25)))
    file.section("Relationships", *(file.edge(f"r{at}", "e", f"r{at + 1}") for at in range(24)))
    exports = set()
    for rows in (1, 7, 25, 1000):
        store = build_sqlite(tmp_path / str(rows))
        store.open()
        world = World(store, Settings())
        progress, findings = run(world, file.render(), chunk_rows=rows)
        assert (progress.twins, progress.relationships, findings) == (25, 24, [])
        exports.add(export(store, exact=False))
        store.close()
    assert len(exports) == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", 1, "empty"),
        (b"\n\n", 1, "empty"),
        (b'{"fileVersion":"1.0.0"}\n', 1, "must begin"),
        (b'{"Section":"Twins"}\n', 1, "must begin"),
        (b'{"Section":"Header"}\n', 0, "before its header"),
        (b'{"Section":"Header"}\n[]\n', 2, "fileVersion"),
        (b'{"Section":"Header"}\n{"fileVersion":"2.0.0"}\n', 2, "version '2.0.0'"),
        (b'{"Section":"Header"}\n{"fileVersion":1}\n', 2, "fileVersion"),
        (b'{"Section":"Header"}\n{"fileVersion":"1.0.0"}\n{}\n', 3, "a section must begin"),
        (b'{"Section":"Header"}\n{"fileVersion":"1.0.0"}\n{"Section":"Twin"}', 3, "mean Twins"),
        (b'{"Section":"Header"}\n{"fileVersion":"1.0.0"}\n{"Section":"Header"}', 3, "order"),
        ('{"Section":"Header"}\n'.encode("utf-16"), 1, "must begin"),
        (b"\x1f\x8bnonsense", 1, "gzip"),
        (gzip.compress(b'{"Section":"Header"}\n{"fileVersion":"1.0.0"}\n')[:-8], 3, "gzip"),
    ],
    ids=[
        *("nothing", "blank lines", "no section", "no header", "the header cut off", "a list"),
        *("another version", "no version", "no section behind it", "a misspelt section"),
        *("two headers", "UTF-16", "no gzip", "gzip cut off"),
    ],
)
def test_a_broken_file_is_refused_naming_the_line(
    empty: World, text: bytes, line: int, message: str
) -> None:
    with pytest.raises(ImportFileInvalid, match=message) as refused:
        run(empty, text)
    if line:
        assert refused.value.line == line
        assert refused.value.message.startswith(f"Line {line}: ")


@pytest.mark.parametrize("name", ["Models", "Twins"])
def test_sections_come_once_and_in_order(empty: World, name: str) -> None:
    file = File().models().section("Twins").section(name)
    with pytest.raises(ImportFileInvalid, match=f"{name} cannot come behind Twins"):
        run(empty, file.render())


def test_a_line_that_is_too_long_ends_the_import_with_its_number(empty: World) -> None:
    file = File().models()
    file.section("Twins", file.twin("r1"), file.twin("r2", name="x" * 5000))
    text = file.render()
    with pytest.raises(ImportFileInvalid, match=r"Line 12: .*longer than 4000 bytes"):
        run(empty, text, max_line_bytes=4000, chunk_rows=1)
    assert empty.read("r1")["$dtId"] == "r1"


def test_a_gzip_stream_that_stands_for_very_much_takes_little_memory(empty: World) -> None:
    bomb = zlib.compressobj(9, wbits=31)
    packed = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(64)) + bomb.flush()
    with pytest.raises(ImportFileInvalid, match="longer than"):
        run(empty, packed)


def test_too_many_refused_lines_end_the_import(empty: World) -> None:
    file = File().models()
    file.section("Twins", *[[1]] * 10)
    with pytest.raises(ImportFileInvalid, match=r"More than 3 lines were refused"):
        run(empty, file.render(), max_errors=3, chunk_rows=2)


def test_models_that_break_the_language_end_the_import_before_any_is_stored(empty: World) -> None:
    file = File().models(build_interface(SPACE), {"@id": "dtmi:x;1", "@type": "Nonsense"})
    with pytest.raises(ModelParsingFailed):
        run(empty, file.render())
    page = empty.do(empty.graph.models.list_models())
    assert page.items == ()


def test_a_model_that_is_there_with_another_document_ends_the_import(world: World) -> None:
    file = File().models(build_interface(SENSOR))
    with pytest.raises(ModelAlreadyExists, match="Sensor"):
        run(world, file.render())


def test_models_may_come_in_any_order(empty: World) -> None:
    progress, _ = run(empty, File().models(*build_building_interfaces()[::-1]).render())
    assert progress.models == 6


def test_a_decommissioned_model_takes_no_new_twins(world: World) -> None:
    world.put("old", FLOOR)
    patch: Any = [{"op": "replace", "path": "/decommissioned", "value": True}]
    world.do(world.graph.models.decommission_model(FLOOR, patch))
    file = File()
    file.section("Twins", file.twin("old", FLOOR, level=1), file.twin("new", FLOOR))
    progress, findings = run(world, file.render())
    assert [one.code for one in findings] == ["ModelDecommissioned"]
    assert (progress.twins, world.read("old")["level"]) == (1, 1)


def test_a_twin_that_stands_twice_has_its_last_line(world: World) -> None:
    file = File()
    file.section("Twins", file.twin("r", temperature=1.0), file.twin("r", temperature=2.0))
    progress, findings = run(world, file.render())
    assert (progress.twins, findings) == (2, [])
    assert world.read("r")["temperature"] == 2.0


class CutError(Exception):
    """Stands for the death of the process."""


class Cut(Importing):
    """An import that dies before it has stored so many chunks and one more."""

    def __init__(self, store: GraphStore, after: int) -> None:
        super().__init__(store, chunk_rows=4)
        self.left = after

    def keep(
        self, transaction: GraphTransaction, progress: Progress, findings: Sequence[Finding]
    ) -> None:
        self.left -= 1
        if self.left < 0:
            raise CutError
        super().keep(transaction, progress, findings)


@pytest.mark.parametrize("after", [1, 2, 5, 6, 9, 11])
def test_an_import_that_was_cut_off_goes_on_behind_its_last_chunk(empty: World, after: int) -> None:
    file = File().models()
    file.section("Twins", *(file.twin(f"r{at}") for at in range(20)))
    file.section("Relationships", *(file.edge(f"r{at}", "e", f"r{at + 1}") for at in range(19)))
    text = file.render()
    with pytest.raises(CutError):
        empty.do(Cut(empty.store, after).run(text))
    again = Importing(empty.store, chunk_rows=3)
    stored = empty.do(again.context.runner.read(lambda s: s.read_entry("progress", "1")))
    assert stored is not None
    start = load_progress(orjson.loads(stored))
    assert start.render() == orjson.loads(stored)
    done = empty.do(again.run(text, start))
    assert (done.models, done.twins, done.relationships) == (6, 20, 19)
    assert all(report.line > start.line for report in again.reports)


def test_models_are_stored_in_pieces_and_count_once_when_an_import_was_cut_off(
    empty: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "PIECE_MODELS", 3)
    models = [build_interface(f"dtmi:example:M{at};1") for at in range(11)]
    text = File().models(*models).render()
    first = Importing(empty.store)
    kept = first.keep

    def keep(transaction: GraphTransaction, progress: Progress, findings: Any) -> None:
        if progress.models > 6:
            raise ImportFileInvalid("cut off")
        kept(transaction, progress, findings)

    monkeypatch.setattr(first, "keep", keep)
    with pytest.raises(ImportFileInvalid, match="cut off"):
        empty.do(first.run(text))
    assert [report.models for report in first.reports] == [3, 6]
    with reading(empty.store) as session:
        stored = session.read_entry("progress", "1")
    assert stored is not None
    done = empty.do(Importing(empty.store).run(text, load_progress(orjson.loads(stored))))
    assert (done.models, done.skipped, done.errors) == (11, 0, 0)
    again = empty.do(Importing(empty.store).run(text))
    assert (again.models, again.skipped) == (0, 11)


def test_models_that_others_change_between_the_pieces_are_judged_again(
    empty: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "PIECE_MODELS", 3)
    models = [build_interface(f"dtmi:example:M{at};1") for at in range(9)]
    importing = Importing(empty.store)

    def upload(transaction: GraphTransaction) -> None:
        moment = "2024-01-01T00:00:00.0000000+00:00"
        transaction.put_models(parse_upload(transaction, [models[7]], moment).records)

    class Reports(list[Progress]):
        def append(self, progress: Progress) -> None:
            if progress.models == 3:  # another client comes between
                (outcome,) = empty.store.write([upload])
                assert outcome.error is None
            super().append(progress)

    importing.reports = Reports()
    done = empty.do(importing.run(File().models(*models).render()))
    assert (done.models, done.skipped) == (8, 1)


def test_a_section_of_models_takes_from_the_account_and_gives_it_back(empty: World) -> None:
    models = [build_interface(f"dtmi:example:M{at};1") for at in range(20)]
    importing = Importing(empty.store)
    importing.context.memory = small = MemoryAccount(1_000_000, {Part.IMPORTS: 10_000})
    with pytest.raises(MemoryLimitExceeded, match="Memory__Imports"):
        empty.do(importing.run(File().models(*models).render()))
    assert small.used == 0
    importing.context.memory = memory = MemoryAccount(1_000_000)
    assert empty.do(importing.run(File().models(*models).render())).models == 20
    assert memory.used == 0


def test_a_chunk_of_rows_takes_from_the_account_and_gives_it_back(
    empty: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing = Importing(empty.store)
    importing.context.memory = memory = MemoryAccount(64_000_000)
    held: list[int] = []
    parse = FileReader.parse

    def look(reader: FileReader, chunk: RawChunk, pause_seconds: float = 0.0) -> Any:
        held.append(memory.read_held(Part.IMPORTS))
        return parse(reader, chunk, pause_seconds)

    monkeypatch.setattr(FileReader, "parse", look)
    file = File().models()
    data = file.section("Twins", *(file.twin(f"t{at}") for at in range(1200))).render()
    assert empty.do(importing.run(data)).twins == 1200
    assert len(held) == 3  # of `Jobs__ChunkRows`
    assert min(held) > 200 * 80
    assert memory.used == 0
    monkeypatch.setattr(importing_module, "_RETRIES", 1)
    importing.context.memory = full = MemoryAccount(64_000_000)
    others = full.hold(Part.WRITES, 63_995_000)
    more = File().models().section("Twins", *(file.twin(f"u{at}") for at in range(1200)))
    with pytest.raises(MemoryExhausted):
        empty.do(importing.run(more.render()))
    assert full.used == others.size


def test_rows_behind_many_models_are_stored_and_counted_once(empty: World) -> None:
    models = [build_interface(f"dtmi:com:example:m{at};1", []) for at in range(PIECE_MODELS + 1)]
    file = File().models(*models)
    twins = [file.twin(f"t{at}", "dtmi:com:example:m1;1") for at in range(3)]
    progress, findings = run(empty, file.section("Twins", *twins).render())
    assert findings == []
    assert (progress.models, progress.twins) == (PIECE_MODELS + 1, 3)
