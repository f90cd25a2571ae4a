"""The control store's contract for single records: stored values, versions, unique keys."""

from __future__ import annotations

import enum
from dataclasses import replace

import orjson
import pytest

from twinframe.errors import Conflict, InvalidArgument
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlStore,
    Key,
    Order,
    Record,
    RecordConflict,
    equal,
    one_of,
)
from twinframe.testing.contracts.base import EXACT
from twinframe.testing.contracts.control_base import (
    PLAIN,
    THING,
    ControlContract,
    build_thing,
    insert,
    read_ids,
    reading,
    run,
)


class _Rank(enum.IntEnum):
    HIGH = 9


class _Note(enum.StrEnum):
    RED = "red"


KEYS: tuple[Key, ...] = (
    *(value for _, value in EXACT if isinstance(value, str)),
    *(value for _, value in EXACT if isinstance(value, int) and not isinstance(value, bool)),
    "1",
    1,
    0,
    -1,
    None,
    "a\x00b",
    "None",
)


class ControlRecordContract(ControlContract):
    """Records are read as they were written to the last byte, and not overwritten unseen."""

    def test_an_absent_record_is_none(self, store: ControlStore) -> None:
        with reading(store) as session:
            assert session.read("thing", "a") is None

    def test_a_record_is_read_as_it_was_stored(self, store: ControlStore) -> None:
        body = orjson.dumps({"z": 1, "a": [None, 2.50, "\U0001f3e2"]})
        (stored,) = insert(store, build_thing("a", body, place="p", rank=3))
        assert stored.body == body
        assert stored.keys == {"place": "p", "name": None, "rank": 3, "note": None}
        assert stored.version > 0
        with reading(store) as session:
            assert session.read("thing", "a") == stored
            assert session.find("thing") == [stored]

    @pytest.mark.parametrize("body", [b'{"z": 1,\n "a":\t2}', b'"\xf0\x9f\x8f\xa2"', b"1.0", b"[]"])
    def test_a_body_keeps_its_spelling(self, store: ControlStore, body: bytes) -> None:
        insert(store, build_thing("a", body))
        with reading(store) as session:
            found = session.read("thing", "a")
        assert found is not None
        assert found.body == body

    @pytest.mark.parametrize("value", KEYS, ids=ascii)
    def test_a_key_keeps_value_and_type_and_is_found_by_it(
        self, store: ControlStore, value: Key
    ) -> None:
        others = [key for key in KEYS if key != value]
        insert(store, build_thing("a", rank=value))
        insert(store, *(build_thing(f"o{number}", rank=key) for number, key in enumerate(others)))
        with reading(store) as session:
            found = session.find("thing", [equal("rank", value)])
        assert [(record.id, record.keys["rank"]) for record in found] == [("a", value)]
        assert type(found[0].keys["rank"]) is type(value)
        assert read_ids(store, one_of("rank", value)) == ["a"]

    @pytest.mark.parametrize("record_id", [key for key in KEYS if isinstance(key, str)], ids=ascii)
    def test_an_id_is_any_text(self, store: ControlStore, record_id: str) -> None:
        insert(store, build_thing(record_id), build_thing(f"{record_id}x"))
        with reading(store) as session:
            found = session.read("thing", record_id)
        assert found is not None
        assert found.id == record_id
        assert read_ids(store, equal("id", record_id)) == [record_id]

    def test_a_member_of_an_enumeration_is_its_value(self, store: ControlStore) -> None:
        (stored,) = insert(store, build_thing("a", rank=_Rank.HIGH, note=_Note.RED))
        assert [type(stored.keys[key]) for key in ("rank", "note")] == [int, str]
        assert read_ids(store, equal("rank", 9), equal("note", "red")) == ["a"]
        assert read_ids(store, equal("rank", _Rank.HIGH), one_of("note", _Note.RED)) == ["a"]

    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1, "\ud800"], ids=ascii)
    def test_a_key_that_no_store_keeps_is_refused(self, store: ControlStore, value: Key) -> None:
        with pytest.raises(InvalidArgument):
            insert(store, build_thing("a", rank=value))
        with pytest.raises(InvalidArgument):
            read_ids(store, equal("rank", value))
        assert read_ids(store) == []

    def test_an_id_that_no_store_keeps_is_refused(self, store: ControlStore) -> None:
        with pytest.raises(InvalidArgument):
            insert(store, build_thing("\ud800"))
        with pytest.raises(InvalidArgument), reading(store) as session:
            session.read("thing", "\ud800")

    def test_kinds_have_ids_of_their_own(self, store: ControlStore) -> None:
        insert(store, build_thing("a"), Record(PLAIN.name, "a", b"[1]"))
        with reading(store) as session:
            assert [session.count(kind.name) for kind in (THING, PLAIN)] == [1, 1]
            found = session.read("plain", "a")
        assert found is not None
        assert (found.kind, found.body, found.keys) == ("plain", b"[1]", {})

    # --- versions -------------------------------------------------------------------------------

    def test_versions_grow_over_all_kinds_and_writes(self, store: ControlStore) -> None:
        first, second = insert(store, build_thing("a"), build_thing("b"))
        (third,) = insert(store, Record(PLAIN.name, "a", b"{}"))
        fourth = run(store, lambda transaction: transaction.update(first))
        run(store, lambda transaction: transaction.delete("thing", "a"))
        (fifth,) = insert(store, build_thing("a"))
        versions = [each.version for each in (first, second, third, fourth, fifth)]
        assert versions == sorted(set(versions))

    def test_versions_are_not_given_again_after_the_store_was_closed(
        self, store: ControlStore, other: ControlStore
    ) -> None:
        (first,) = insert(store, build_thing("a"))
        run(store, lambda transaction: transaction.delete("thing", "a"))
        (second,) = insert(other, build_thing("a"))
        assert second.version > first.version

    def test_an_update_replaces_body_and_keys(self, store: ControlStore) -> None:
        (stored,) = insert(store, build_thing("a", b"1", place="p", rank=1, note="n"))
        changed = replace(stored, body=b"2", keys={"place": "q", "rank": None})
        updated = run(store, lambda transaction: transaction.update(changed))
        assert updated.version > stored.version
        assert updated.keys == {"place": "q", "name": None, "rank": None, "note": None}
        with reading(store) as session:
            assert session.read("thing", "a") == updated
        assert read_ids(store, equal("place", "p")) == []
        assert read_ids(store, equal("place", "q"), equal("note", None)) == ["a"]

    def test_an_update_of_another_version_is_refused(self, store: ControlStore) -> None:
        (stored,) = insert(store, build_thing("a", b"1"))
        updated = run(store, lambda transaction: transaction.update(replace(stored, body=b"2")))
        for version in (0, stored.version, updated.version + 1):
            stale = replace(stored, body=b"3", version=version)
            with pytest.raises(RecordConflict) as caught:
                run(store, lambda transaction, stale=stale: transaction.update(stale))  # type: ignore[misc]
            assert (caught.value.kind, caught.value.record_id) == ("thing", "a")
        with reading(store) as session:
            assert session.read("thing", "a") == updated

    def test_an_update_of_what_is_gone_is_refused(self, store: ControlStore) -> None:
        (stored,) = insert(store, build_thing("a"))
        run(store, lambda transaction: transaction.delete("thing", "a"))
        with pytest.raises(RecordConflict):
            run(store, lambda transaction: transaction.update(stored))
        assert read_ids(store) == []

    def test_a_deleted_record_is_gone_and_its_id_and_keys_are_free(
        self, store: ControlStore
    ) -> None:
        insert(store, build_thing("a", place="p", name="n", note="x"))
        assert run(store, lambda transaction: transaction.delete("thing", "a")) is True
        assert run(store, lambda transaction: transaction.delete("thing", "a")) is False
        insert(store, build_thing("b", place="p", name="n", note="x"), build_thing("a"))
        assert read_ids(store) == ["a", "b"]

    def test_a_delete_of_another_version_is_refused(self, store: ControlStore) -> None:
        (stored,) = insert(store, build_thing("a"))
        for version in (stored.version - 1, stored.version + 1):
            with pytest.raises(RecordConflict):
                run(store, lambda t, version=version: t.delete("thing", "a", version))  # type: ignore[misc]
        assert read_ids(store) == ["a"]
        assert run(store, lambda transaction: transaction.delete("thing", "a", stored.version))
        assert run(store, lambda transaction: transaction.delete("thing", "a", 1)) is False

    # --- unique keys ----------------------------------------------------------------------------

    def test_a_taken_id_is_refused_and_named(self, store: ControlStore) -> None:
        (stored,) = insert(store, build_thing("a", b"1"))
        with pytest.raises(RecordConflict, match="'a'") as caught:
            insert(store, build_thing("a", b"2"))
        assert (caught.value.kind, caught.value.record_id) == ("thing", "a")
        assert isinstance(caught.value, Conflict)
        with reading(store) as session:
            assert session.read("thing", "a") == stored

    def test_taken_unique_keys_are_refused_and_named(self, store: ControlStore) -> None:
        insert(store, build_thing("a", place="p", name="n"))
        with pytest.raises(RecordConflict, match="name 'n'") as caught:
            insert(store, build_thing("b", place="p", name="n"))
        assert caught.value.record_id == "b"
        insert(store, build_thing("b", place="p", name="m"), build_thing("c", place="q", name="n"))
        assert read_ids(store) == ["a", "b", "c"]

    def test_unique_keys_with_none_among_them_are_not_compared(self, store: ControlStore) -> None:
        records = [
            build_thing(f"{place}{number}", place=place) for place in "pq" for number in "12"
        ]
        insert(store, *records, build_thing("n1", name="n"), build_thing("n2", name="n"))
        assert len(read_ids(store)) == 6

    def test_a_text_and_an_integer_are_different_unique_keys(self, store: ControlStore) -> None:
        insert(store, build_thing("a", note=1), build_thing("b", note="1"))
        with pytest.raises(RecordConflict):
            insert(store, build_thing("c", note=1))

    def test_an_update_to_taken_unique_keys_is_refused(self, store: ControlStore) -> None:
        insert(store, build_thing("a", place="p", name="n", note="x"))
        (second,) = insert(store, build_thing("b", place="p", name="m", note="y"))
        for keys in ({"place": "p", "name": "n"}, {"note": "x"}):
            with pytest.raises(RecordConflict):
                run(store, lambda t, keys=keys: t.update(replace(second, keys=keys)))  # type: ignore[misc]
        with reading(store) as session:
            assert session.read("thing", "b") == second

    def test_a_record_may_keep_its_own_unique_keys(self, store: ControlStore) -> None:
        (stored,) = insert(store, build_thing("a", place="p", name="n", note="x"))
        updated = run(store, lambda transaction: transaction.update(replace(stored, body=b"2")))
        assert updated.keys == stored.keys

    def test_unique_keys_may_change_hands_in_one_work(self, store: ControlStore) -> None:
        first, second = insert(store, build_thing("a", note="x"), build_thing("b", note="y"))

        def swap(transaction: object) -> None:
            assert hasattr(transaction, "update")
            free = transaction.update(replace(first, keys={}))
            transaction.update(replace(second, keys={"note": "x"}))
            transaction.update(replace(free, keys={"note": "y"}))

        run(store, swap)
        assert read_ids(store, equal("note", "x")) == ["b"]
        assert read_ids(store, equal("note", "y")) == ["a"]

    # --- what was not declared ------------------------------------------------------------------

    def test_a_kind_or_key_that_was_not_declared_is_an_error_with_the_nearest(
        self, store: ControlStore
    ) -> None:
        with pytest.raises(ValueError, match="thing"):
            run(store, lambda transaction: transaction.insert(Record("thong", "a", b"{}")))
        with pytest.raises(ValueError, match="place"):
            insert(store, build_thing("a", plaice="p"))
        with reading(store) as session:
            for refused in (
                lambda: session.read("thong", "a"),
                lambda: session.find("thong"),
                lambda: session.count("thong"),
                lambda: session.find("thing", [equal("nmae", 1)]),
                lambda: session.count("thing", [equal("nmae", 1)]),
                lambda: session.find("thing", order=Order("nmae")),
                lambda: session.find("thing", [equal("id", 1)]),
                lambda: session.find("thing", [equal("version", "1")]),
                lambda: session.find("thing", [Condition("name", Comparison.IN, "ab")]),
                lambda: session.find("thing", [Condition("name", Comparison.EQUAL, ("a",))]),
                lambda: session.find("thing", [one_of("rank", *range(10_001))]),
                lambda: session.find("thing", limit=-1),
                lambda: session.find("thing", offset=-1),
            ):
                with pytest.raises(ValueError):  # noqa: PT011  (each has words of its own)
                    refused()
