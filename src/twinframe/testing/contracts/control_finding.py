"""The control store's contract for listings: conditions, their order, pages."""

from __future__ import annotations

import pytest

from twinframe.storage.control import Comparison, Condition, ControlStore, Key, Order, equal, one_of
from twinframe.testing.contracts.control_base import (
    ControlContract,
    build_thing,
    insert,
    read_ids,
    reading,
)

RANKS: tuple[Key, ...] = (None, -(2**63), -1, 0, 7, 2**63 - 1, "", "1", "B", "a", "é", "\U0001f3e2")
"""Keys in their order."""


class ControlFindingContract(ControlContract):
    """Conditions, order and pages mean the same in every store."""

    @pytest.fixture
    def ranked(self, store: ControlStore) -> ControlStore:
        """Things `00`, `01` ... whose ranks are `RANKS`, inserted in another order."""
        numbered = list(enumerate(RANKS))
        insert(store, *(build_thing(f"{at:02}", rank=rank) for at, rank in numbered[1::2]))
        insert(store, *(build_thing(f"{at:02}", rank=rank) for at, rank in numbered[::2]))
        return store

    @pytest.mark.parametrize("descending", [False, True])
    def test_keys_are_ordered_none_first_then_integers_then_texts(
        self, ranked: ControlStore, descending: bool
    ) -> None:
        with reading(ranked) as session:
            found = session.find("thing", order=Order("rank", descending))
        expected = list(reversed(RANKS)) if descending else list(RANKS)
        assert [record.keys["rank"] for record in found] == expected

    @pytest.mark.parametrize("test", [test for test in Comparison if test is not Comparison.IN])
    def test_ranges_follow_the_order_and_leave_none_out(
        self, ranked: ControlStore, test: Comparison
    ) -> None:
        for at, bound in enumerate(RANKS):
            expected = {
                Comparison.EQUAL: [at],
                Comparison.BELOW: range(1, at),
                Comparison.AT_MOST: range(1, at + 1),
                Comparison.ABOVE: range(at + 1, len(RANKS)),
                Comparison.AT_LEAST: range(at, len(RANKS)),
            }[test]
            if bound is None and test is not Comparison.EQUAL:
                expected = []
            found = read_ids(ranked, Condition("rank", test, bound))
            assert found == [f"{number:02}" for number in expected], (test, bound)

    def test_in_finds_each_of_its_values_once(self, ranked: ControlStore) -> None:
        assert read_ids(ranked, one_of("rank")) == []
        assert read_ids(ranked, one_of("rank", "a", 7, "a", "absent")) == ["04", "09"]
        assert read_ids(ranked, one_of("rank", None)) == ["00"]
        assert read_ids(ranked, one_of("rank", None, 0)) == ["00", "03"]

    def test_in_takes_ten_thousand_values(self, ranked: ControlStore) -> None:
        assert read_ids(ranked, one_of("rank", *range(7, 10_007))) == ["04"]
        assert read_ids(ranked, one_of("id", *(f"{n:02}" for n in range(10_000))))[:1] == ["00"]

    def test_all_conditions_must_be_met(self, store: ControlStore) -> None:
        for place in "pq":
            insert(store, *(build_thing(f"{place}{n}", place=place, rank=n) for n in range(5)))
        low = Condition("rank", Comparison.AT_LEAST, 2)
        assert read_ids(store, equal("place", "q"), low) == ["q2", "q3", "q4"]
        high = Condition("rank", Comparison.BELOW, 4)
        assert read_ids(store, low, high, one_of("place", "p", "x")) == ["p2", "p3"]
        assert read_ids(store, equal("rank", 1), equal("rank", 2)) == []

    def test_records_are_found_by_id_and_version_too(self, store: ControlStore) -> None:
        records = insert(store, *(build_thing(f"{n}") for n in range(5)))
        assert read_ids(store, one_of("id", "1", "3", "9")) == ["1", "3"]
        assert read_ids(store, Condition("id", Comparison.ABOVE, "2")) == ["3", "4"]
        assert read_ids(store, equal("id", None)) == []
        later = Condition("version", Comparison.ABOVE, records[2].version)
        assert read_ids(store, later) == ["3", "4"]

    def test_versions_give_the_order_of_changes(self, store: ControlStore) -> None:
        (first, *_) = insert(store, *(build_thing(record_id) for record_id in "cab"))
        store.write([lambda transaction: transaction.update(first)])
        with reading(store) as session:
            found = session.find("thing", order=Order("version"))
            newest = session.find("thing", order=Order("version", descending=True), limit=1)
        assert [record.id for record in found] == ["a", "b", "c"]
        assert [record.id for record in newest] == ["c"]

    @pytest.mark.parametrize("key", ["rank", "name", "note"])
    def test_equal_keys_come_by_id_and_a_turned_order_is_turned_as_a_whole(
        self, store: ControlStore, key: str
    ) -> None:
        insert(
            store,
            *(build_thing(n, rank=int(n in "ac"), note=None, name=None) for n in "dacbe"),
        )
        expected = {"rank": ["b", "d", "e", "a", "c"]}.get(key, list("abcde"))
        with reading(store) as session:
            forward = [record.id for record in session.find("thing", order=Order(key))]
            backward = [record.id for record in session.find("thing", order=Order(key, True))]
        assert forward == expected
        assert backward == expected[::-1]

    def test_the_order_is_by_id_unless_told_and_ids_are_ordered_by_code_point(
        self, store: ControlStore
    ) -> None:
        ids = ["", "A", "Z", "a", "b", "é", "\uffee", "\U0001f3e2"]
        insert(store, *(build_thing(record_id) for record_id in reversed(ids)))
        assert read_ids(store) == ids

    def test_pages_cut_the_listing_without_gap_and_overlap(self, store: ControlStore) -> None:
        insert(store, *(build_thing(f"{n:03}", place="p", rank=n % 7) for n in range(100)))
        insert(store, *(build_thing(f"x{n}", place="q", rank=n) for n in range(10)))
        wanted, order = [equal("place", "p")], Order("rank", descending=True)
        with reading(store) as session:
            whole = session.find("thing", wanted, order=order)
            pages = [
                session.find("thing", wanted, order=order, offset=offset, limit=30)
                for offset in range(0, 150, 30)
            ]
            assert session.count("thing", wanted) == len(whole) == 100
        assert [len(page) for page in pages] == [30, 30, 30, 10, 0]
        assert [record for page in pages for record in page] == list(whole)

    def test_a_page_of_none_and_a_page_behind_the_end_are_empty(self, ranked: ControlStore) -> None:
        with reading(ranked) as session:
            assert list(session.find("thing", limit=0)) == []
            assert list(session.find("thing", offset=len(RANKS))) == []
            assert len(session.find("thing", offset=len(RANKS) - 1)) == 1
            assert len(session.find("thing", offset=0, limit=2**63 - 1)) == len(RANKS)

    def test_counting_agrees_with_finding(self, ranked: ControlStore) -> None:
        with reading(ranked) as session:
            assert session.count("thing") == len(RANKS)
            for test in Comparison:
                for bound in RANKS:
                    value = (bound, "a") if test is Comparison.IN else bound
                    wanted = [Condition("rank", test, value)]
                    assert session.count("thing", wanted) == len(session.find("thing", wanted))
