"""The export of the history as tables: it leads to the state of the graph, whatever was silent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.graph.events import test_outbox_reading as histories
from twinframe.errors import HistoryNotKept, InvalidArgument, Unsupported
from twinframe.graph.events import differences
from twinframe.graph.transfer import tables as tables_module
from twinframe.graph.transfer.tables import ExportedTables
from twinframe.hooks.event_sinks.tables import TableRow, TableSink
from twinframe.settings import Settings
from twinframe.settings.events import EventsSettings
from twinframe.settings.history import HistorySettings
from twinframe.testing.contracts.base import reading, run
from twinframe.testing.factories import ROOM


class Tables(TableSink):
    """Keeps rows by name, as files would."""

    rows = 4
    seconds = 1.0

    def __init__(self) -> None:
        self.stored: dict[str, Sequence[TableRow]] = {}

    async def write(self, name: str, rows: Sequence[TableRow]) -> None:
        assert name not in self.stored
        self.stored[name] = list(rows)

    @property
    def all(self) -> list[dict[str, Any]]:
        """All rows by the names of their columns, in order."""
        return [
            dict(zip([name for name, _ in row.table.columns], row.values, strict=True))
            for name in sorted(self.stored)
            for row in self.stored[name]
        ]


def export(
    world: Any, start: str | None = None, end: str | None = None
) -> tuple[Tables, ExportedTables]:
    sink = Tables()
    return sink, world.do(world.graph.tables.export_tables(sink, start, end, lambda _rows: None))


def rebuild(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Build the state that rows lead to: the properties of twins, and of relationships."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        if "Key" in row:
            owner = (row["Id"], row["RelationshipId"]) if row["RelationshipId"] else (row["Id"],)
            if row["Action"] == "Delete":
                assert row["Value"] is None
                found[owner].pop(row["Key"], None)
            else:
                found[owner][row["Key"]] = orjson.loads(row["Value"])
            continue
        owner = (row["TwinId"],) if "TwinId" in row else (row["Source"], row["RelationshipId"])
        if row["Action"] == "Delete":
            del found[owner]
        else:
            assert owner not in found
            is_twin = "TwinId" in row
            found[owner] = {} if is_twin else {"name": row["Name"], "target": row["Target"]}
    return found


def read_state(store: Any) -> dict[tuple[str, ...], dict[str, Any]]:
    """The same of the stored documents."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    with reading(store) as session, session.snapshot():
        for twin in session.iterate_twins():
            found[twin.twin_id,] = flatten(orjson.loads(twin.body))
        for edge in session.iterate_relationships():
            document = orjson.loads(edge.body)
            ends = {"name": document["$relationshipName"], "target": document["$targetId"]}
            found[edge.source_id, edge.relationship_id] = {**flatten(document), **ends}
    return found


def flatten(document: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in document.items():
        if isinstance(value, dict) and "$metadata" in value:
            found.update({f"{name}.{key}": each for key, each in value.items() if key[0] != "$"})
        elif name[0] != "$":
            found[name] = value
    return found


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("is_silent", [True, False])
@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    actions=st.lists(
        histories.ACTIONS.filter(lambda one: one[0] not in ("read", "prune")),
        min_size=1,
        max_size=20,
    )
)
def test_the_rows_lead_to_the_state_of_the_graph(
    monkeypatch: pytest.MonkeyPatch, kind: str, is_silent: bool, actions: list[tuple[Any, ...]]
) -> None:
    with monkeypatch.context() as patched, histories.open_store(kind) as store:
        patched.setattr(differences, "getrandbits", lambda _: 1)
        patched.setattr(tables_module, "_AT_ONCE", 3)
        patched.setattr(tables_module, "MUCH", 300)
        player = histories.Player(store)
        if is_silent:
            player.world = type(player.world)(store, build_settings(enabled=False))
        for action in actions:
            player.play(action, {})
        sink, done = export(player.world)
        assert rebuild(sink.all) == read_state(store)
        assert done.rows == len(sink.all)
        assert all(row["ServiceId"] == "localhost" for row in sink.all)
        # Read by parts, it is the same.
        middle = str((done.within.after + done.within.end) // 2)
        parts = [*export(player.world, None, middle)[0].all, *export(player.world, middle)[0].all]
        assert parts == sink.all


@pytest.fixture
def kept(world: Any) -> Any:
    """A graph whose storage keeps history."""
    with reading(world.store) as session:
        if not session.keeps_history:
            pytest.skip("This storage keeps no history.")
    return world


def test_a_storage_without_history_says_so(world: Any) -> None:
    with reading(world.store) as session:
        if session.keeps_history:
            pytest.skip("This storage keeps history.")
    with pytest.raises(Unsupported, match="keeps no history"):
        export(world)


def build_settings(*, enabled: bool) -> Settings:
    return Settings(events=EventsSettings(enabled=enabled))


def test_changes_without_events_have_the_rows_that_events_would_have(kept: Any) -> None:
    silent = type(kept)(kept.store, build_settings(enabled=False))
    found = []
    for each, twin, other in ((kept, "a", "b"), (silent, "c", "d")):
        times = {
            "$metadata": {"$model": ROOM, "temperature": {"sourceTime": "2024-01-31T12:00:00Z"}}
        }
        each.put(twin, temperature=1, **times)
        each.put(other)
        each.put(twin, temperature=2, thermostat={"$metadata": {}, "setPoint": 3}, **times)
        each.patch(twin, {"op": "remove", "path": "/temperature"})
        each.relate(twin, "r", other, "relatedTo")
        each.do(each.graph.relationships.delete_relationship(twin, "r"))
        each.do(each.graph.twins.delete_twin(twin))
        rows = [{**row, "TimeStamp": ""} for row in export(kept)[0].all]
        ids = {twin: "1", other: "2"}
        found.append(
            [
                {name: ids.get(str(value), value) for name, value in row.items()}
                for row in rows
                if not {twin, other}.isdisjoint(row.values())
            ]
        )
    assert found[0] == found[1]
    assert len(found[0]) > 8
    assert {row["SourceTimeStamp"] for row in found[0] if row.get("Key") == "temperature"} == {
        "2024-01-31T12:00:00Z",
        None,
    }


def test_moments_name_what_is_exported(kept: Any) -> None:
    kept.put("a")
    first = kept.stamp()
    kept.put("b")
    second = kept.stamp()
    kept.put("c")

    def list_twins(*bounds: str | None) -> list[str]:
        return [row["TwinId"] for row in export(kept, *bounds)[0].all if "TwinId" in row]

    assert list_twins() == ["a", "b", "c"]
    assert list_twins(first) == ["b", "c"]
    assert list_twins(None, second) == ["a", "b"]
    assert list_twins(first, second) == ["b"]
    assert list_twins(second, second) == []
    names = [set(export(kept)[0].stored) for _ in range(2)]
    assert names[0] == names[1]


def test_what_cannot_be_exported_is_said(kept: Any) -> None:
    kept.put("a")
    with pytest.raises(InvalidArgument, match="neither a date and time"):
        export(kept, "yesterday")
    with pytest.raises(InvalidArgument, match="beyond the last event"):
        export(kept, None, "999")
    with pytest.raises(InvalidArgument, match="must not be after"):
        export(kept, "2", "1")
    kept.put("b")
    with reading(kept.store) as session:
        last = session.read_event_bounds()[1]
    run(kept.store, lambda transaction: transaction.delete_events(up_to=last - 1, limit=99))
    with pytest.raises(HistoryNotKept, match="does not go back so far"):
        export(kept, "2001-01-01T00:00:00Z")
    assert [row["TwinId"] for row in export(kept)[0].all if "TwinId" in row] == ["b"]
    off = type(kept)(kept.store, Settings(history=HistorySettings(enabled=False)))
    with pytest.raises(Unsupported, match="History__Enabled"):
        export(off)
