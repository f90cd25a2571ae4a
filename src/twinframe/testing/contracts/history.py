"""The contract of stores with history: the reads from which earlier states are built."""

from __future__ import annotations

from functools import partial

import pytest

from twinframe.storage.base import (
    ChangeKind,
    GraphSession,
    GraphStore,
    GraphTransaction,
    OutboxEvent,
)
from twinframe.testing.contracts.base import StoreContract, reading, run


def _build_round(at: int) -> list[OutboxEvent]:
    text, moment = str(at).encode(), 1000 + 10 * at
    return [
        OutboxEvent("a", text, ChangeKind.TWIN_CREATED, "", moment),
        OutboxEvent("a", text, ChangeKind.TWIN_UPDATED, "", moment),
        OutboxEvent("a", text, ChangeKind.RELATIONSHIP_CREATED, "r", moment),
        OutboxEvent("a", b"{}", ChangeKind.NOTHING, "", moment),
        OutboxEvent("a", text, ChangeKind.RELATIONSHIP_DELETED, "r", moment, "b"),
        OutboxEvent("b", text, ChangeKind.RELATIONSHIP_DELETED, "\u00e9 s", moment, "a"),
        OutboxEvent("dtmi:a;1", text, ChangeKind.MODEL_CREATED, "", moment),
        OutboxEvent("a", text, ChangeKind.TWIN_DELETED, "", moment),
        OutboxEvent("dtmi:a;1", text, ChangeKind.MODEL_DELETED, "", moment),
    ]


def _append(events: list[OutboxEvent], transaction: GraphTransaction) -> None:
    transaction.append_events(events)


_ROUND = 9


class HistoryContract(StoreContract):
    """Events by entity, by deletion and by moment. Positions below count from the first event."""

    def test_a_store_says_whether_it_keeps_history(self, store: GraphStore) -> None:
        self._fill(store)
        with reading(store) as session:
            assert isinstance(session.keeps_history, bool)

    def test_moments_are_kept_and_never_go_back(self, store: GraphStore) -> None:
        first = self._fill(store)
        early = [OutboxEvent("c", b"", ChangeKind.TWIN_CREATED, "", 5)]
        run(store, lambda t: t.append_events(early))
        run(store, lambda t: t.append_events(early * 9))
        with reading(store) as session:
            assert session.read_moment(first) == (first, 1000)
            assert session.read_moment(0) == (first, 1000)
            assert session.read_moment(first + _ROUND) == (first + _ROUND, 1010)
            last = session.read_event_bounds()[1]
            for position in range(first + 3 * _ROUND - 1, last + 1):
                assert session.read_moment(position) == (position, 1020)
            assert session.read_moment(last + 1) is None
            rows = session.read_events(after=first + _ROUND - 1, limit=_ROUND)
            assert [event for _, event in rows] == _build_round(1)

    def test_a_log_that_was_emptied_takes_earlier_moments(self, store: GraphStore) -> None:
        first = self._fill(store)
        run(store, lambda t: t.append_events([OutboxEvent("c", b"", None, "", 2000)]))
        with reading(store) as session:
            last = session.read_event_bounds()[1]
        left = last - first + 1
        for limit in (left - 1, 1, 1):  # a store need not look for more than it was told to delete
            run(store, lambda t, limit=limit: t.delete_events(up_to=last, limit=limit))  # type: ignore[misc]  # bound at once
        run(store, lambda t: t.append_events([OutboxEvent("c", b"", None, "", 5)]))
        with reading(store) as session:
            assert session.read_moment(0) == (last + 1, 5)

    def test_the_first_change_of_an_entity_is_found(self, store: GraphStore) -> None:
        first = self._fill(store)

        def read(session: GraphSession, *keys: tuple[str, str], after: int) -> dict[str, int]:
            found = session.read_first_changes(keys, after=first + after)
            for key, (_, event) in found.items():
                assert (event.subject, event.relationship_id) == key
            return {f"{a}{r}": at - first for (a, r), (at, _) in found.items()}

        with reading(store) as session:
            assert read(session, ("a", ""), after=-1) == {"a": 0}
            assert read(session, ("a", ""), after=1) == {"a": 7}
            every = [("a", ""), ("a", "r"), ("b", "\u00e9 s"), ("c", ""), ("b", "")]
            assert read(session, *every, after=0) == {"a": 1, "ar": 2, "b\u00e9 s": 5}
            assert read(session, *every, after=7) == {"a": 9, "ar": 11, "b\u00e9 s": 14}
            assert read(session, *every, after=25) == {}

    def test_the_changes_of_an_entity_are_listed_both_ways(self, store: GraphStore) -> None:
        first = self._fill(store)

        def read(newest_first: bool, before: int | None = None, limit: int = 99) -> list[int]:
            bound = None if before is None else first + before
            rows = session.read_entity_changes(
                ("a", ""), after=first, before=bound, limit=limit, newest_first=newest_first
            )
            return [at - first for at, _ in rows]

        with reading(store) as session:
            assert read(False) == [1, 7, 9, 10, 16, 18, 19, 25]
            assert read(True) == [25, 19, 18, 16, 10, 9, 7, 1]
            assert read(False, before=16, limit=3) == [1, 7, 9]
            assert read(True, before=16, limit=3) == [10, 9, 7]

    def test_the_ways_back_of_many_entities_are_read_together(self, store: GraphStore) -> None:
        first = self._fill(store)
        large = [OutboxEvent("a", b"x" * 100_000, ChangeKind.TWIN_UPDATED, "", 9999)]
        run(store, lambda t: t.append_events(large))
        starts = {("a", ""): first, ("a", "r"): first + 11, ("c", ""): first}

        def read(limit: int, *keys: tuple[str, str]) -> dict[str, list[int]]:
            ways = session.read_ways_back({key: starts[key] for key in keys}, limit=limit)
            for key, rows in ways.items():
                for at, event in rows:
                    assert (event.subject, event.relationship_id) == key
                    assert event.body in (b"", large[0].body, *texts)
                    assert event.body or at == first + 3 * _ROUND
            # Behind a deletion there may be more than replacements.
            found = {}
            for (twin_id, own), rows in ways.items():
                gone = [at for at, event in rows if event.kind in (3, 6)][:1]
                end = gone[0] if gone else rows[-1][0] if rows else 0
                found[twin_id + own] = [at - first for at, _ in rows if at <= end]
            return {name: rows for name, rows in found.items() if rows}

        texts = [str(at).encode() for at in range(3)]
        with reading(store) as session:
            assert read(9, *starts) == {"a": [1, 7], "ar": [13]}
            assert read(9, ("a", "")) == {"a": [1, 7]}
            assert read(1, *starts) == {"a": [1], "ar": [13]}
            starts = {("a", ""): first + 26, ("b", ""): first}
            assert read(9, *starts) == {"a": [27]}

    def test_what_was_deleted_is_found_by_its_ends(self, store: GraphStore) -> None:
        first = self._fill(store)
        gone = ("a", "r"), ("b", "\u00e9 s")
        with reading(store) as session:
            assert list(session.find_deleted_twins(after=first + 7)) == ["a", "a"]
            find = session.find_deleted_relationships
            assert sorted(find(after=first + 9)) == [gone[0]] * 2 + [gone[1]] * 2
            assert list(find(after=first + 19, sources=["a", "c"])) == [gone[0]]
            assert list(find(after=first + 19, targets=["a", "c"])) == [gone[1]]
            assert list(find(after=first + 19, sources=["a"], targets=["a"])) == []
            assert list(find(after=first + 26)) == []

    def test_changes_of_models_are_found(self, store: GraphStore) -> None:
        first = self._fill(store)
        with reading(store) as session:
            found = [at - first for at, _ in session.read_model_changes(after=first + 6)]
        assert found == [8, 15, 17, 24, 26]

    def test_what_is_deleted_from_the_history_is_no_longer_found(self, store: GraphStore) -> None:
        first = self._fill(store)
        run(store, lambda t: t.delete_events(up_to=first + 18, limit=99))
        with reading(store) as session:
            assert session.read_moment(first) == (first + 19, 1020)
            found = session.read_first_changes([("a", "")], after=0)
            assert {at - first for at, _ in found.values()} == {19}
            assert list(session.find_deleted_twins(after=0)) == ["a"]
            assert [at - first for at, _ in session.read_model_changes(after=0)] == [24, 26]

    def _fill(self, store: GraphStore) -> int:
        """Append three rounds of events; return the position of the first."""
        with reading(store) as session:
            if not session.keeps_history:
                pytest.skip("The store keeps no history.")
            before = session.read_event_bounds()[1]
        for at in range(3):
            run(store, partial(_append, _build_round(at)))
        return before + 1
