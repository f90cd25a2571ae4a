"""Batches of many rows: what they read, and how they are sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.postgres.server import build_prefix, share_server
from twinframe.storage.base import ChangeKind, GraphTransaction, OutboxEvent
from twinframe.testing.contracts.base import run
from twinframe.testing.factories import build_relationship_record, build_twin_record
from twinframe_storage_postgres import spelling
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore
from twinframe_storage_postgres.transaction import PostgresTransaction

COUNT = 600  # of which a statement has a part


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresGraphStore]:
    """An open store."""
    chosen = PostgresSettings(
        url=share_server(), schema_=build_prefix(tmp_path), directory=str(tmp_path)
    )
    store = PostgresGraphStore(chosen, "graph")
    store.open()
    yield store
    store.close()


def test_a_batch_of_more_rows_than_a_statement_is_stored_whole(store: PostgresGraphStore) -> None:
    names = [f"t{number}" for number in range(COUNT)]

    def apply(transaction: GraphTransaction) -> None:
        transaction.put_twins([build_twin_record(name) for name in names])
        transaction.put_relationships(
            [build_relationship_record(name, "r", names[0]) for name in names]
        )
        transaction.append_events([OutboxEvent(name, name.encode()) for name in names])

    run(store, apply)
    assert store.verify() == []
    session = store.session()
    assert session.count_twins() == COUNT
    events = session.read_events(after=0, limit=2 * COUNT)
    assert [event.body.decode() for _, event in events] == names
    assert [position for position, _ in events] == list(range(1, COUNT + 1))
    assert len({event.moment for _, event in events}) == 1


_HOSTILE: Final = [
    *(
        "",
        "\\",
        "\\N",
        "\\.",
        "a\tb\nc\rd",
        '"',
        "\0",
        "\1",
        "\x7f",
        "é\u2028😀",
        "1e5,",
        "\\u0000",
    ),
    *(1e16, -0.0, 1.5e-7, 2**53 + 1, 9.3e18, None, True, [1.0, {"a": "\\t"}]),
]


_SAME: Final = (
    "SELECT count(*) FROM @twin t JOIN unnest(%b::text[], %b::text[]) x (id, members) "
    "ON x.id = t.dt_id WHERE t.members::text = x.members::jsonb::text"
)


@pytest.mark.parametrize("is_known", [True, False])
def test_rows_that_are_known_to_be_new_are_stored_as_others(
    store: PostgresGraphStore, is_known: bool
) -> None:
    names = [f"t{number}" for number in range(COUNT)]
    twins = [
        build_twin_record(name, value=_HOSTILE[number % len(_HOSTILE)])
        for number, name in enumerate(names)
    ]
    edges = [build_relationship_record(name, "r\\", names[0], note="\\n\t") for name in names]
    keys = [(each.source_id, each.relationship_id) for each in edges]
    kinds = [None, *ChangeKind]

    def put_twins(transaction: GraphTransaction) -> None:
        if is_known:
            assert not transaction.read_twin_documents(names)
        transaction.put_twins([*twins, *twins[:3]])
        for number, name in enumerate(names):
            event = OutboxEvent(name, bytes([number % 256]), kinds[number % len(kinds)], "", number)
            transaction.append_events([event])
        last = OutboxEvent("t", b"", ChangeKind.RELATIONSHIP_DELETED, "r", 1, "gone\\")
        transaction.append_events([last])

    def put_relationships(transaction: GraphTransaction) -> None:
        if is_known:
            transaction.read_twin_models(names)
            assert not transaction.read_relationship_documents(keys)
        transaction.put_relationships(edges)
        transaction.put_twins(twins[:3])  # which are there already
        assert transaction.count_twins() == COUNT

    copied = run(store, put_twins), run(store, put_relationships)
    assert copied == (None, None)
    assert store.verify() == []
    session = store.session()
    found = session.read_twin_documents(names)
    assert {name: each.body for name, each in found.items()} == {x.twin_id: x.body for x in twins}
    kept = session.read_relationship_documents(keys)
    assert [kept[key].body for key in keys] == [each.body for each in edges]
    spelled = [spelling.render_members(each.body.decode()) for each in twins]
    assert session.read_one(_SAME, (names, spelled)) == COUNT
    events = session.read_events(after=0, limit=2 * COUNT)
    assert [at for at, _ in events] == list(range(1, COUNT + 2))
    assert [each.body for _, each in events[:-1]] == [bytes([n % 256]) for n in range(COUNT)]
    assert [each.kind for _, each in events[:COUNT]] == [
        kinds[number % len(kinds)] for number in range(COUNT)
    ]
    assert events[-1][1].target_id == "gone\\"
    moments = [each.moment for _, each in events]
    assert moments == sorted(moments)


def test_documents_of_a_batch_are_read_without_sending_what_it_has_put(
    store: PostgresGraphStore,
) -> None:
    run(store, lambda transaction: transaction.put_twin(build_twin_record("old", number=1)))

    def apply(transaction: GraphTransaction) -> Sequence[str]:
        assert isinstance(transaction, PostgresTransaction)
        transaction.put_twins([build_twin_record("new", number=2)])
        twins = transaction.read_twin_documents(["old", "new", "none", "old"])
        transaction.put_relationships([build_relationship_record("new", "r", "old")])
        keys = [("new", "r"), ("old", "r")]
        relationships = transaction.read_relationship_documents(keys)
        assert transaction.sent == 0
        assert [*relationships] == keys[:1]
        return [str(orjson.loads(each.body)["number"]) for each in twins.values()]

    assert run(store, apply) == ["1", "2"]


def test_statistics_are_made_after_an_import(store: PostgresGraphStore) -> None:
    run(store, lambda t: t.put_twins([build_twin_record(f"t{number}") for number in range(COUNT)]))
    store.refresh_statistics()
    ask = "SELECT reltuples::int FROM pg_class WHERE oid = '@twin'::regclass"
    assert store.session().read_one(ask) == COUNT
    store.close()
    store.refresh_statistics()  # nothing depends on it: the server does it itself later
    store.open()


_TEXTS = st.text() | st.sampled_from([":1e5,", " -0.0,", "\0", "\1", "1.2.3", '"a":1e5}', "[1.50]"])
_FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, 1e16, 1e-7])
_VALUES = st.recursive(
    _TEXTS | _FLOATS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(_TEXTS, _VALUES, min_size=1, max_size=4))
def test_documents_that_need_another_spelling_are_found(document: dict[str, object]) -> None:
    texts = json.dumps(document), json.dumps(document, indent=1), orjson.dumps(document).decode()
    for text in texts:
        assert spelling.render_members(text) == spelling._TOKEN.sub(spelling._spell, text)


@pytest.mark.parametrize("number", ["1e-07", "1E5", "1.50", "0.10000000000000001", "-0.00", "1e0"])
def test_floats_in_any_spelling_are_found(number: str) -> None:
    text = f'{{"a":[1.5,{number},2.5]}}'
    assert spelling.render_members(text) == spelling._TOKEN.sub(spelling._spell, text)
