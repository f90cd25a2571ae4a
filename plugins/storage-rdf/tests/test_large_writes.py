"""What large documents cost when they are written: what is sent, and how much at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import NoneType
from typing import cast

import pyoxigraph
import pytest

from twinframe.errors import MemoryExhausted, MemoryLimitExceeded
from twinframe.runtime.memory import MemoryAccount, Part
from twinframe.storage.base import GraphTransaction, OutboxEvent
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.factories import build_model_record, build_twin_record
from twinframe_storage_rdf import changes
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.engine import Change, Engine, Guard
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.engines.rdflib_engine import RdflibEngine
from twinframe_storage_rdf.mapping import GraphNames, Triple
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.terms import Iri, Row, Term
from twinframe_storage_rdf.updates import (
    render_conditional,
    render_conditional_by_keys,
    render_data,
)

LARGE = "x" * 100_000


@pytest.fixture(params=[OxigraphEngine, RdflibEngine])
def store(request: pytest.FixtureRequest) -> Iterator[RdfStore]:
    engine = cast("Engine", request.param())
    store = RdfStore(engine, GraphNames("default"), shared=False)
    store.open()
    put(store, build_model_record("Thing"))
    yield store
    store.close()


@pytest.fixture
def made(store: RdfStore, monkeypatch: pytest.MonkeyPatch) -> list[Change]:
    """The changes that the store has its engine make."""
    found: list[Change] = []
    commit = store.engine.commit

    def note(change: Change) -> bool:
        found.append(change)
        return commit(change)

    monkeypatch.setattr(store.engine, "commit", note)
    return found


def list_values(graphs: object) -> list[Term]:
    return [value for _, triples in cast("list", graphs) for _, _, value in triples]  # type: ignore[type-arg]


def test_a_long_text_is_not_sent_to_be_deleted(store: RdfStore, made: list[Change]) -> None:
    put(store, build_twin_record("t", text=LARGE))
    put(store, build_twin_record("t", text="short"))
    going = list_values(made[-1].removed)
    assert None in going
    assert all(len(str(value)) < 5000 for value in going)
    assert store.verify() == []
    with reading(store) as session:
        twin = session.read_twin("t")
    assert twin is not None
    assert b"short" in twin.body
    assert LARGE.encode() not in twin.body


def test_a_large_text_that_stays_is_not_touched(store: RdfStore, made: list[Change]) -> None:
    put(store, build_twin_record("t", text=LARGE))
    put(store, build_twin_record("t", text=LARGE, count=1))
    assert LARGE not in list_values(made[-1].added)
    assert store.verify() == []


def test_the_undo_of_old_writes_goes_without_being_read(
    store: RdfStore, made: list[Change], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_TIMED_EVERY", 1)
    monkeypatch.setattr(changes, "UNDO_SECONDS", -1)
    read: list[Term] = []
    select = store.engine.select

    def note(text: str, deadline: float | None = None) -> Iterator[Row]:
        rows = list(select(text, deadline))
        read.extend(value for row in rows for value in row)
        return iter(rows)

    monkeypatch.setattr(store.engine, "select", note)
    for number in range(5):
        put(store, build_twin_record("t", text=LARGE, count=number))
    monkeypatch.undo()
    kept = store.engine.select(
        f"SELECT ?w WHERE {{ GRAPH <{store.names.state}> {{ ?w <{v.UNDO}> ?any }} }}"
    )
    versions = sorted(v.parse_write_iri(str(write)) for (write,) in kept)
    # NOTE: what was written before times were is not known to be old; the last one is not yet old.
    assert len(made) == 5
    assert versions == [1, 6]
    assert not any(isinstance(value, bytes) and b'"twins"' in value for value in read)


@pytest.mark.parametrize("render", [render_conditional, render_conditional_by_keys])
def test_servers_find_what_has_no_value_by_its_key(
    render: Callable[[Change, Triple], str],
) -> None:
    graph, subject, predicate = Iri("urn:g"), Iri("urn:s"), Iri("urn:p")
    guard = Guard(graph, subject, Iri("urn:version"), 1)
    marker: Triple = (subject, Iri("urn:version"), 2)
    claim: Triple = (subject, Iri("urn:claim"), "mine")
    removed: list[Triple] = [(subject, predicate, None), (subject, Iri("urn:version"), 1)]
    change = Change(guard, marker, [(graph, removed)], [(graph, [marker])])
    dataset = pyoxigraph.Store()
    text = render_data("INSERT", [(graph, [removed[1], claim, (subject, predicate, LARGE)])])
    dataset.update(text)
    dataset.update(render(change, claim))
    assert {(quad.predicate.value, quad.object.value) for quad in dataset} == {("urn:version", "2")}


# --- parts of a batch -----------------------------------------------------------------------------


def put_work(twin_id: str, size: int) -> Callable[[GraphTransaction], object]:
    record = build_twin_record(twin_id, text="x" * size)
    return lambda transaction: transaction.put_twin(record)


def test_works_that_change_much_are_changes_of_their_own(
    store: RdfStore, made: list[Change]
) -> None:
    outcomes = store.write([put_work(f"t{number}", 1_000_000) for number in range(12)])
    assert [outcome.error for outcome in outcomes] == [None] * 12
    assert len(made) == 3
    with reading(store) as session:
        assert [twin.twin_id for twin in session.iterate_twins()] == sorted(
            f"t{number}" for number in range(12)
        )


def test_small_works_are_one_change(store: RdfStore, made: list[Change]) -> None:
    store.write([put_work(f"t{number}", 1000) for number in range(100)])
    assert len(made) == 1


def test_a_work_without_memory_for_it_is_refused_alone(store: RdfStore) -> None:
    store.memory = MemoryAccount(8_000_000)
    works = [put_work("a", 100), put_work("b", 3_000_000), put_work("c", 100)]
    errors = [outcome.error for outcome in store.write(works)]
    assert [type(error) for error in errors] == [NoneType, MemoryLimitExceeded, NoneType]
    assert store.memory.used == 0
    with reading(store) as session:
        assert [twin.twin_id for twin in session.iterate_twins()] == ["a", "c"]


def test_works_that_fit_alone_wait_for_each_other(store: RdfStore, made: list[Change]) -> None:
    store.memory = MemoryAccount(8_000_000)
    outcomes = store.write([put_work(f"t{number}", 1_500_000) for number in range(3)])
    assert [outcome.error for outcome in outcomes] == [None] * 3
    assert len(made) == 3
    assert store.memory.used == 0


def test_a_work_waits_while_others_hold_the_memory(store: RdfStore) -> None:
    store.memory = MemoryAccount(8_000_000)
    with store.memory.hold(Part.REQUESTS, 7_000_000):
        (outcome,) = store.write([put_work("t", 1_500_000)])
        assert isinstance(outcome.error, MemoryExhausted)
    (outcome,) = store.write([put_work("t", 1_500_000)])
    assert outcome.error is None


def test_what_was_refused_to_be_read_is_not_taken_for_absent(store: RdfStore) -> None:
    put(store, build_twin_record("large", text="x" * 3_000_000))
    store.memory = MemoryAccount(4_000_000)

    def look(transaction: GraphTransaction) -> bool:
        with pytest.raises(MemoryLimitExceeded):
            transaction.read_twin("large")
        with pytest.raises(MemoryLimitExceeded):
            transaction.read_twin("large")
        return True

    (outcome,) = store.write([look])
    assert outcome.result is True


def test_documents_that_are_replaced_unread_count_when_the_change_is_made(store: RdfStore) -> None:
    for number in range(8):
        put(store, build_twin_record(f"t{number}", text="x" * 1_000_000))
    store.memory = MemoryAccount(4_500_000)
    outcomes = store.write([put_work(f"t{number}", 100) for number in range(8)])
    assert [outcome.error for outcome in outcomes] == [None] * 8
    assert store.memory.used == 0
    assert store.verify() == []


def test_a_snapshot_puts_back_what_a_large_write_replaced(
    store: RdfStore, made: list[Change]
) -> None:
    for number in range(6):
        put(store, build_twin_record(f"t{number}", text=LARGE, count=number))

    def apply(transaction: GraphTransaction) -> None:
        for number in range(6):
            transaction.put_twin(build_twin_record(f"t{number}", text="short"))
        transaction.put_entry("kind", "key", b"{}")

    with reading(store) as session, session.snapshot():
        before = list(session.iterate_twins())
        (outcome,) = store.write([apply])
        assert outcome.error is None
        assert list(session.iterate_twins()) == before
        assert session.read_entry("kind", "key") is None
    undone = [
        value for _, triples in made[-1].added for _, name, value in triples if name == v.UNDO
    ]
    assert len(undone) == 3
    assert all(len(cast("bytes", text)) < 300_000 for text in undone)


def test_few_large_events_are_deleted_at_once(store: RdfStore) -> None:
    event = OutboxEvent("t", b'"' + b"x" * 1_000_000 + b'"')
    for _ in range(12):
        store.write([lambda transaction: transaction.append_events([event])])
    gone: list[int] = []
    while not gone or gone[-1]:
        (outcome,) = store.write(
            [lambda transaction: transaction.delete_events(up_to=12, limit=1000)]
        )
        gone.append(cast("int", outcome.result))
    assert gone == [5, 5, 2, 0]
