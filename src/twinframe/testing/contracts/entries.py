"""The storage contract for entries, the service's own small documents."""

from __future__ import annotations

from uuid import uuid4

import pytest

from twinframe.storage.base import GraphStore, GraphTransaction
from twinframe.testing.contracts.base import EXACT, StoreContract, put, reading, run
from twinframe.testing.factories import build_twin_record


class EntryContract(StoreContract):
    """Putting, reading, listing and deleting entries."""

    def test_an_entry_that_was_put_is_read_back_and_replaced(self, store: GraphStore) -> None:
        run(store, lambda t: t.put_entry("route", "a", b'{"n": 1}'))
        with reading(store) as session:
            assert session.read_entry("route", "a") == b'{"n": 1}'
            run(store, lambda t: t.put_entry("route", "a", b"2"))
            assert session.read_entry("route", "a") == b"2"

    def test_an_absent_entry_is_none(self, store: GraphStore) -> None:
        run(store, lambda t: t.put_entry("route", "a", b"{}"))
        with reading(store) as session:
            assert session.read_entry("route", "b") is None
            assert session.read_entry("job", "a") is None
            assert list(session.read_entries("job", after=None, limit=9)) == []

    def test_entries_of_one_kind_are_listed_by_the_code_points_of_their_keys(
        self, store: GraphStore
    ) -> None:
        keys = ["", "B", "a", "a/b", "aa", "\u00e9", "\uffee", "\U0001f3e2"]

        def apply(transaction: GraphTransaction) -> None:
            for key in reversed(keys):
                transaction.put_entry("route", key, key.encode())
                transaction.put_entry("job", key, b"other")

        run(store, apply)
        with reading(store) as session:
            seen: list[str] = []
            after: str | None = None
            while page := session.read_entries("route", after=after, limit=3):
                assert len(page) <= 3
                assert [listed.item for listed in page] == [one.key.encode() for one in page]
                seen += [listed.key for listed in page]
                after = page[-1].key
            assert seen == keys

    @pytest.mark.parametrize("limit", [1, 4, 100])
    def test_entries_come_in_the_order_of_keys_whatever_was_written_first(
        self, store: GraphStore, limit: int
    ) -> None:
        # NOTE: texts that a server has never seen: it may number them in order of arrival.
        starts = (uuid4().hex[:6], uuid4().hex * 3)
        keys = [f"{start}{n}" for start in starts for n in (3, 1, 2, 0)]
        for key in keys:
            run(store, lambda t, key=key: t.put_entry("k", key, b"1"))  # type: ignore[misc]
        seen: list[str] = []
        with reading(store) as session:
            after: str | None = None
            while page := session.read_entries("k", after=after, limit=limit):
                seen += [listed.key for listed in page]
                after = page[-1].key
        assert seen == sorted(keys)

    def test_a_deleted_entry_is_gone_and_deleting_says_whether_it_was(
        self, store: GraphStore
    ) -> None:
        run(store, lambda t: t.put_entry("route", "a", b"{}"))
        assert run(store, lambda t: t.delete_entry("job", "a")) is False
        assert run(store, lambda t: t.delete_entry("route", "a")) is True
        assert run(store, lambda t: t.delete_entry("route", "a")) is False
        with reading(store) as session:
            assert session.read_entry("route", "a") is None

    @pytest.mark.parametrize("text", [str(value) for _, value in EXACT], ids=[w for w, _ in EXACT])
    def test_keys_and_bodies_are_kept_as_they_are(self, store: GraphStore, text: str) -> None:
        run(store, lambda t: t.put_entry("k", text, text.encode()))
        with reading(store) as session:
            assert session.read_entry("k", text) == text.encode()
            assert [one.key for one in session.read_entries("k", after=None, limit=2)] == [text]

    def test_a_work_sees_its_own_entries(self, store: GraphStore) -> None:
        def apply(transaction: GraphTransaction) -> None:
            transaction.put_entry("k", "a", b"1")
            assert transaction.read_entry("k", "a") == b"1"
            transaction.put_entry("k", "b", b"2")
            assert len(transaction.read_entries("k", after=None, limit=9)) == 2
            assert transaction.delete_entry("k", "a")
            assert [one.key for one in transaction.read_entries("k", after="", limit=9)] == ["b"]

        run(store, apply)

    def test_entries_are_no_twins_and_no_models(self, store: GraphStore) -> None:
        put(store, build_twin_record("t"))
        run(store, lambda t: t.put_entry("twin", "t2", b"{}"))
        with reading(store) as session:
            assert session.count_twins() == 1
            assert [node.id for node in session.scan_nodes(None)] == ["t"]

    def test_entries_outlive_the_store_that_wrote_them(
        self, store: GraphStore, other: GraphStore
    ) -> None:
        run(store, lambda t: t.put_entry("k", "a", b"1"))
        with reading(other) as session:
            assert session.read_entry("k", "a") == b"1"
