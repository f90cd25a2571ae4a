"""What the rows of events hold for the history: the moment, who, and what is no longer stored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.conftest import World
from twinframe.graph.events.rows import parse_record, parse_row
from twinframe.model.clock import render_update_time
from twinframe.runtime.instruments.base import CURRENT_SUBJECT
from twinframe.settings import Settings
from twinframe.settings.history import HistorySettings
from twinframe.storage.base import ChangeKind, OutboxEvent
from twinframe.testing.contracts.base import reading
from twinframe.testing.factories import ROOM, build_interface, build_twin_document


def read_rows(world: Any) -> list[OutboxEvent]:
    with reading(world.store) as session:
        return [event for _, event in session.read_events(after=0, limit=999)]


def test_all_changes_of_a_transaction_have_its_moment(world: Any) -> None:
    transactions = world.graph.transactions
    operations = [
        {"op": "putTwin", "twinId": twin_id, "document": build_twin_document(ROOM)}
        for twin_id in ("a", "b", "c")
    ]
    before = len(read_rows(world))
    parsed = world.do(transactions.parse({"operations": operations}))
    world.do(transactions.run(parsed))
    world.put("d")
    *together, later = [event.moment for event in read_rows(world)[before:]]
    assert len(set(together)) == 1
    assert later > together[0]


def test_the_moment_of_a_twin_is_its_time(world: Any) -> None:
    written = world.put("a")
    moment = read_rows(world)[-1].moment
    assert render_update_time(moment) == written["$metadata"]["$lastUpdateTime"]


@pytest.mark.parametrize("keeps", [True, False])
def test_a_row_says_who_made_the_change(world: Any, keeps: bool) -> None:
    own = World(world.store, Settings(history=HistorySettings(who=keeps)))
    token = CURRENT_SUBJECT.set('anna "\u00e9"')
    try:
        own.put("a")
        own.do(own.graph.models.create_models([build_interface("dtmi:test:Lamp;1")]))
    finally:
        CURRENT_SUBJECT.reset(token)
    own.put("b")
    found = [parse_row(event.body) for event in read_rows(world)[-3:]]
    who = 'anna "\u00e9"' if keeps else ""
    assert [row and row.who for row in found] == [who, who, ""]


def test_a_deleted_relationship_has_its_target(world: Any) -> None:
    for twin_id in ("a", "b", "c"):
        world.put(twin_id)
    world.relate("a", "r", "b")
    world.relate("a", "r", "c")
    world.do(world.graph.relationships.delete_relationship("a", "r"))
    deleted = [row for row in read_rows(world) if row.kind == ChangeKind.RELATIONSHIP_DELETED]
    assert [(row.relationship_id, row.target_id) for row in deleted] == [("r", "b"), ("r", "c")]


@pytest.mark.parametrize("is_silent", [True, False])
def test_a_deleted_model_has_what_was_stored_of_it(world: Any, is_silent: bool) -> None:
    own = World(world.store, Settings.model_validate({"Events": {"Enabled": not is_silent}}))
    model_id = "dtmi:test:Lamp;1"
    own.do(own.graph.models.create_models([build_interface(model_id)]))
    with reading(world.store) as session:
        record = session.read_model(model_id)
    own.do(own.graph.models.delete_model(model_id))
    row = parse_row(read_rows(world)[-1].body)
    assert row is not None
    assert parse_record(row.difference) == record
