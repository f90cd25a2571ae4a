"""The control store's contract for transactions: atomicity, isolation, visibility; and for kinds
that change.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from twinframe.errors import ConfigurationError
from twinframe.storage.control import (
    ControlStore,
    ControlTransaction,
    ControlWriteFunction,
    Record,
    RecordConflict,
    RecordKind,
    equal,
)
from twinframe.testing.contracts.control_base import (
    KINDS,
    PLAIN,
    THING,
    ControlContract,
    build_thing,
    insert,
    read_ids,
    reading,
    run,
)


class WriteRefusedError(Exception):
    """Raised by write functions of the contract on purpose."""


def inserting(record_id: str, *, then_fail: bool = False) -> ControlWriteFunction[object]:
    """A write function that inserts a thing and returns its id."""

    def apply(transaction: ControlTransaction) -> str:
        transaction.insert(build_thing(record_id))
        if then_fail:
            raise WriteRefusedError(record_id)
        return record_id

    return apply


def increment(transaction: ControlTransaction) -> int:
    """Read, add one, write: a lost update would show in the sum."""
    stored = transaction.read(PLAIN.name, "count")
    if stored is None:
        transaction.insert(Record(PLAIN.name, "count", b"1"))
        return 1
    count: int = orjson.loads(stored.body) + 1
    transaction.update(replace(stored, body=orjson.dumps(count)))
    return count


class ControlWriteContract(ControlContract):
    """One write is all or nothing, writes of a batch are independent, and acknowledged ones are
    seen.
    """

    def test_no_works_are_no_outcomes(self, store: ControlStore) -> None:
        assert list(store.write([])) == []

    def test_a_work_that_raises_leaves_nothing_and_its_neighbours_live(
        self, store: ControlStore
    ) -> None:
        outcomes = store.write([inserting("a"), inserting("b", then_fail=True), inserting("c")])
        assert [outcome.result for outcome in outcomes] == ["a", None, "c"]
        assert isinstance(outcomes[1].error, WriteRefusedError)
        assert (outcomes[0].error, outcomes[2].error) == (None, None)
        assert read_ids(store) == ["a", "c"]

    def test_a_work_that_fails_late_undoes_every_kind_of_write(self, store: ControlStore) -> None:
        first, second = insert(store, build_thing("a", note="x"), build_thing("b", note="y"))

        def apply(transaction: ControlTransaction) -> None:
            transaction.delete("thing", "a")
            transaction.update(replace(second, body=b"[]", keys={"note": "x"}))
            transaction.insert(build_thing("c", note="y"))
            raise WriteRefusedError

        (outcome,) = store.write([apply])
        assert isinstance(outcome.error, WriteRefusedError)
        with reading(store) as session:
            assert session.find("thing") == [first, second]
            assert session.find("thing", [equal("note", "x")]) == [first]

    def test_a_conflict_inside_a_work_can_be_handled_there(self, store: ControlStore) -> None:
        insert(store, build_thing("a", note="x"))

        def apply(transaction: ControlTransaction) -> str:
            transaction.insert(build_thing("b"))
            for refused in (build_thing("a"), build_thing("c", note="x")):
                with pytest.raises(RecordConflict):
                    transaction.insert(refused)
            return transaction.insert(build_thing("d", note="y")).id

        assert run(store, apply) == "d"
        assert read_ids(store) == ["a", "b", "d"]

    def test_a_work_sees_its_own_writes_and_those_of_the_works_before_it(
        self, store: ControlStore
    ) -> None:
        def first(transaction: ControlTransaction) -> None:
            stored = transaction.insert(build_thing("a", rank=1))
            assert transaction.read("thing", "a") == stored
            updated = transaction.update(replace(stored, keys={"rank": 2}))
            assert transaction.find("thing", [equal("rank", 2)]) == [updated]
            assert transaction.count("thing", [equal("rank", 1)]) == 0

        def second(transaction: ControlTransaction) -> int:
            assert transaction.delete("thing", "a")
            assert transaction.read("thing", "a") is None
            return transaction.count("thing")

        outcomes = store.write([first, second])
        assert [outcome.error for outcome in outcomes] == [None, None]
        assert outcomes[1].result == 0

    def test_a_session_sees_what_was_acknowledged_before(
        self, store: ControlStore, other: ControlStore
    ) -> None:
        with reading(store) as session, reading(other) as second:
            assert session.read("thing", "a") is second.read("thing", "a") is None
            insert(store, build_thing("a"))
            assert session.count("thing") == second.count("thing") == 1
            insert(other, build_thing("b"))
            assert session.count("thing") == second.count("thing") == 2

    def test_a_snapshot_shows_one_state(self, store: ControlStore, other: ControlStore) -> None:
        insert(store, build_thing("a"), build_thing("b", rank=1))
        with reading(store) as session:
            with session.snapshot():
                before = session.find("thing")
                insert(other, build_thing("c", rank=1))
                run(store, lambda transaction: transaction.delete("thing", "a"))
                with session.snapshot():
                    assert session.read("thing", "a") == before[0]
                assert session.find("thing") == before
                assert session.count("thing", [equal("rank", 1)]) == 1
            assert [record.id for record in session.find("thing")] == ["b", "c"]
            with pytest.raises(WriteRefusedError), session.snapshot():
                raise WriteRefusedError
            insert(other, build_thing("d"))
            assert session.count("thing") == 3

    def test_a_snapshot_in_a_work_sees_the_works_own_writes(self, store: ControlStore) -> None:
        def apply(transaction: ControlTransaction) -> int:
            with transaction.snapshot():
                transaction.insert(build_thing("a"))
                assert transaction.read("thing", "a") is not None
            transaction.insert(build_thing("b"))
            return transaction.count("thing")

        assert run(store, apply) == 2
        assert read_ids(store) == ["a", "b"]

    def test_no_update_is_lost_between_threads(
        self, store: ControlStore, other: ControlStore
    ) -> None:
        errors: list[BaseException] = []

        def add(own: ControlStore) -> None:
            for _ in range(20):
                outcomes = own.write([increment, increment])
                errors.extend(outcome.error for outcome in outcomes if outcome.error is not None)

        threads = [threading.Thread(target=add, args=(own,)) for own in (store, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        with reading(store) as session:
            found = session.read("plain", "count")
        assert found is not None
        assert found.body == b"80"

    # --- opening --------------------------------------------------------------------------------

    def test_what_was_stored_is_there_when_the_store_is_opened_again(
        self, opener: Callable[[], ControlStore]
    ) -> None:
        store = opener()
        records = insert(store, build_thing("a", rank=1), build_thing("b", note="x"))
        store.close()
        again = opener()
        with reading(again) as session:
            assert session.find("thing") == records
        again.close()

    def test_a_kind_may_gain_keys_unique_sets_and_indexes(self, tmp_path: Path) -> None:
        make = self.make_opener(tmp_path)
        old = make()
        old.open([PLAIN, RecordKind("thing", ("place",), indexes=(("place", "id"),))])
        insert(old, build_thing("a", place="p"))
        old.close()
        new = make()
        new.open(KINDS)
        insert(new, build_thing("b", place="p", name="n", note="x"))
        assert read_ids(new, equal("name", None)) == ["a"]
        with reading(new) as session:
            found = session.read("thing", "a")
        assert found is not None
        assert found.keys == {"place": "p", "name": None, "rank": None, "note": None}
        updated = run(new, lambda transaction: transaction.update(replace(found, keys={"rank": 1})))
        assert read_ids(new, equal("rank", 1)) == ["a"]
        assert updated.keys["place"] is None
        with pytest.raises(RecordConflict):
            insert(new, build_thing("c", note="x"))
        assert list(new.verify()) == []
        new.close()

    @pytest.mark.parametrize(
        "lesser",
        [
            replace(THING, keys=THING.keys[:-1], unique=(("place", "name"),)),
            replace(THING, unique=(("place", "name"),)),
        ],
        ids=["a key", "a unique set"],
    )
    def test_a_kind_that_lost_something_is_refused(
        self, store: ControlStore, tmp_path: Path, lesser: RecordKind
    ) -> None:
        insert(store, build_thing("a", note="x"))
        with pytest.raises(ConfigurationError, match="note"):
            self.make_opener(tmp_path)().open([lesser])

    def test_a_unique_set_that_stored_records_break_is_refused(self, tmp_path: Path) -> None:
        make = self.make_opener(tmp_path)
        old = make()
        old.open([RecordKind("thing", ("place",))])
        insert(old, build_thing("a", place="p"), build_thing("b", place="p"))
        with pytest.raises(ConfigurationError, match="thing"):
            make().open([RecordKind("thing", ("place",), unique=(("place",),))])
        insert(old, build_thing("c", place="p"))  # no part of the refused declaration holds
        old.close()

    @pytest.mark.parametrize(
        "kinds",
        [
            [PLAIN, PLAIN],
            [RecordKind("Thing")],
            [RecordKind("a; DROP TABLE meta")],
            [RecordKind("thing", ("id",))],
            [RecordKind("thing", ("a", "a"))],
            [RecordKind("thing", ('a"b',))],
            [RecordKind("thing", ("a",), unique=(("b",),))],
            [RecordKind("thing", ("a",), indexes=((),))],
        ],
        ids=ascii,
    )
    def test_a_declaration_that_makes_no_sense_is_an_error(
        self, tmp_path: Path, kinds: list[RecordKind]
    ) -> None:
        with pytest.raises(ValueError):  # noqa: PT011  (each has words of its own)
            self.make_opener(tmp_path)().open(kinds)
