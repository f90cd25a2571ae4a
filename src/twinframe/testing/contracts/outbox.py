"""The storage contract for the outbox of events."""

from __future__ import annotations

import threading
from contextlib import suppress

from twinframe.errors import StorageBusy
from twinframe.storage.base import (
    ChangeKind,
    ChangePage,
    EntityChange,
    GraphSession,
    GraphStore,
    GraphTransaction,
    OutboxEvent,
)
from twinframe.testing.contracts.base import EXACT, StoreContract, put, reading, run, run_all
from twinframe.testing.factories import build_twin_record


def build_events(*names: str) -> list[OutboxEvent]:
    """One event a name, about it, with the name as body."""
    return [OutboxEvent(name, name.encode()) for name in names]


class OutboxContract(StoreContract):
    """Appending, reading and deleting events."""

    def test_events_are_read_in_the_order_in_which_they_were_appended(
        self, store: GraphStore
    ) -> None:
        run(store, lambda t: t.append_events(build_events("a", "b")))
        run(store, lambda t: t.append_events(build_events()))
        run(store, lambda t: t.append_events(build_events("c")))
        with reading(store) as session:
            rows = session.read_events(after=0, limit=9)
            assert [event for _, event in rows] == build_events("a", "b", "c")
            positions = [position for position, _ in rows]
            assert positions == sorted(set(positions))
            assert positions[0] >= 1

    def test_reading_goes_on_behind_a_position(self, store: GraphStore) -> None:
        run(store, lambda t: t.append_events(build_events(*"abcdefg")))
        with reading(store) as session:
            seen = ""
            after = 0
            while rows := session.read_events(after=after, limit=3):
                assert len(rows) <= 3
                seen += "".join(event.subject for _, event in rows)
                after = rows[-1][0]
            assert seen == "abcdefg"

    def test_the_bounds_tell_the_first_kept_and_the_last_ever(self, store: GraphStore) -> None:
        with reading(store) as session:
            assert session.read_event_bounds() == (0, 0)
            run(store, lambda t: t.append_events(build_events(*"abc")))
            positions = [position for position, _ in session.read_events(after=0, limit=9)]
            assert session.read_event_bounds() == (positions[0], positions[-1])
            run(store, lambda t: t.delete_events(up_to=positions[0], limit=9))
            assert session.read_event_bounds() == (positions[1], positions[-1])
            run(store, lambda t: t.delete_events(up_to=positions[-1], limit=9))
            first, last = session.read_event_bounds()
            assert (first > last, last) == (True, positions[-1])

    def test_the_oldest_events_go_first_and_no_more_than_asked(self, store: GraphStore) -> None:
        run(store, lambda t: t.append_events(build_events(*"abcde")))
        with reading(store) as session:
            positions = [position for position, _ in session.read_events(after=0, limit=9)]
            assert run(store, lambda t: t.delete_events(up_to=positions[3], limit=2)) == 2
            rows = session.read_events(after=0, limit=9)
            assert [event.subject for _, event in rows] == ["c", "d", "e"]
            assert run(store, lambda t: t.delete_events(up_to=positions[3], limit=9)) == 2
            assert run(store, lambda t: t.delete_events(up_to=positions[3], limit=9)) == 0
            rows = session.read_events(after=0, limit=9)
            assert [event.subject for _, event in rows] == ["e"]
            assert rows[0][0] == positions[4]

    def test_a_position_is_not_given_again_when_its_event_was_deleted(
        self, store: GraphStore
    ) -> None:
        run(store, lambda t: t.append_events(build_events("a", "b")))
        with reading(store) as session:
            _, last = session.read_event_bounds()
            run(store, lambda t: t.delete_events(up_to=last, limit=9))
            run(store, lambda t: t.append_events(build_events("c")))
            ((position, event),) = session.read_events(after=0, limit=9)
            assert position > last
            assert event.subject == "c"

    def test_events_of_a_work_that_fails_never_come(self, store: GraphStore) -> None:
        def failing(transaction: GraphTransaction) -> None:
            transaction.append_events(build_events("lost"))
            assert len(transaction.read_events(after=0, limit=9)) == 2
            raise RuntimeError

        outcomes = run_all(
            store,
            lambda t: t.append_events(build_events("a")),
            failing,
            lambda t: t.append_events(build_events("b")),
        )
        assert [outcome.error is None for outcome in outcomes] == [True, False, True]
        with reading(store) as session:
            rows = session.read_events(after=0, limit=9)
            assert [event.subject for _, event in rows] == ["a", "b"]

    def test_texts_are_kept_as_they_are(self, store: GraphStore) -> None:
        events = [OutboxEvent(str(value), repr(value).encode()) for _, value in EXACT]
        run(store, lambda t: t.append_events(events))
        with reading(store) as session:
            rows = session.read_events(after=0, limit=len(events))
            assert [event for _, event in rows] == events

    def test_what_an_event_changed_is_stored_with_it(self, store: GraphStore) -> None:
        events = [
            OutboxEvent("a", b"1", ChangeKind.TWIN_CREATED),
            OutboxEvent("a", b"2", ChangeKind.RELATIONSHIP_UPDATED, "r \u00e9/1"),
            OutboxEvent("dtmi:a;1", b"3", ChangeKind.MODEL_DELETED),
            OutboxEvent("a", b"{}"),
            OutboxEvent("a", b"{}", None),
            *[OutboxEvent("b", b"4", ChangeKind.TWIN_DELETED)] * 9,
        ]
        run(store, lambda t: t.append_events(events))
        with reading(store) as session:
            rows = session.read_events(after=0, limit=99)
            assert [event for _, event in rows] == events
            assert {type(event.kind) for _, event in rows} == {ChangeKind, type(None)}

    def test_changes_are_read_without_what_changed_nothing(self, store: GraphStore) -> None:
        events = [
            OutboxEvent("a", b"1", ChangeKind.TWIN_CREATED),
            OutboxEvent("a", b"{}"),
            OutboxEvent("a", b"2", ChangeKind.RELATIONSHIP_CREATED, "r"),
            OutboxEvent("a", b"3", ChangeKind.RELATIONSHIP_DELETED, "r"),
            OutboxEvent("b", b"{}"),
        ]
        run(store, lambda t: t.append_events(events))
        with reading(store) as session:
            first, last = session.read_event_bounds()
            page = session.read_changes(after=first - 1, limit=3)
            assert page.changes == [
                EntityChange(first, ChangeKind.TWIN_CREATED, "a"),
                EntityChange(first + 2, ChangeKind.RELATIONSHIP_CREATED, "a", "r"),
            ]
            assert (page.position, page.is_complete) == (first + 2, True)
            page = session.read_changes(after=page.position, limit=3)
            assert [change.position for change in page.changes] == [first + 3]
            assert (page.position, page.is_complete) == (last, True)
            assert session.read_changes(after=last, limit=3) == ChangePage([], last, True)

    def test_changes_that_are_no_longer_kept_are_noticed(self, store: GraphStore) -> None:
        with reading(store) as session:
            assert session.read_changes(after=0, limit=9).is_complete
            created = OutboxEvent("a", b"1", ChangeKind.TWIN_CREATED)
            run(store, lambda t: t.append_events([created] * 4))
            first, last = session.read_event_bounds()
            run(store, lambda t: t.delete_events(up_to=first + 1, limit=9))
            assert not session.read_changes(after=first, limit=9).is_complete
            assert session.read_changes(after=first + 1, limit=9).is_complete
            run(store, lambda t: t.delete_events(up_to=last, limit=9))
            assert not session.read_changes(after=first + 1, limit=9).is_complete
            assert session.read_changes(after=last, limit=9).is_complete
            assert not session.read_changes(after=last + 1, limit=9).is_complete

    def test_changes_of_unknown_kind_are_noticed(self, store: GraphStore) -> None:
        old = OutboxEvent("a", b"{}", None)
        new = OutboxEvent("b", b"1", ChangeKind.TWIN_CREATED)
        run(store, lambda t: t.append_events([old, new]))
        with reading(store) as session:
            first, last = session.read_event_bounds()
            page = session.read_changes(after=first - 1, limit=9)
            assert [change.subject for change in page.changes] == ["b"]
            assert (page.position, page.is_complete) == (last, False)
            assert session.read_changes(after=first, limit=9).is_complete

    def test_events_that_replaced_a_document_are_found_by_its_entity(
        self, store: GraphStore
    ) -> None:
        def build(round_: int) -> list[OutboxEvent]:
            text = str(round_).encode()
            return [
                OutboxEvent("a", text, ChangeKind.TWIN_CREATED),
                OutboxEvent("a", text, ChangeKind.TWIN_UPDATED),
                OutboxEvent("a", text, ChangeKind.RELATIONSHIP_UPDATED, "r"),
                OutboxEvent("a", text, ChangeKind.RELATIONSHIP_UPDATED, "s"),
                OutboxEvent("b", text, ChangeKind.TWIN_DELETED),
                OutboxEvent("a", text, ChangeKind.MODEL_DELETED),
                OutboxEvent("a", text, ChangeKind.RELATIONSHIP_DELETED, "r"),
            ]

        rows = [event for round_ in range(4) for event in build(round_)]
        run(store, lambda t: t.append_events(rows))

        def read(session: GraphSession, *key: str, after: int = 0, limit: int = 99) -> list[int]:
            rows = session.read_replacements(*key, after=after, limit=limit)
            first = session.read_event_bounds()[1] - 27
            assert all(event.replaced == key for _, event in rows)
            assert [at for at, _ in rows] == sorted(at for at, _ in rows)
            return [at - first for at, _ in rows]

        with reading(store) as session:
            first, last = session.read_event_bounds()
            assert read(session, "a", "") == [1, 8, 15, 22]
            assert read(session, "a", "r") == [2, 6, 9, 13, 16, 20, 23, 27]
            assert read(session, "a", "r", after=first + 6, limit=3) == [9, 13, 16]
            assert read(session, "b", "", after=last) == []
            assert read(session, "c", "") == []
            run(store, lambda t: t.delete_events(up_to=first + 8, limit=99))
            assert read(session, "a", "") == [15, 22]
            run(store, lambda t: t.delete_events(up_to=last, limit=99))
            assert read(session, "a", "") == []
            run(store, lambda t: t.append_events(build(5)))
            assert read(session, "a", "") == [22]

        def write(transaction: GraphTransaction) -> None:
            transaction.append_events(build(6))
            assert [at for at, _ in transaction.read_replacements("a", "", after=0, limit=9)] == [
                last + 2,
                last + 9,
            ]

        run(store, write)

    def test_with_an_event_comes_the_state_and_every_event_before_it(
        self, store: GraphStore, other: GraphStore
    ) -> None:
        """Run two writers; a reader that follows must find each twin, and miss no event."""
        rounds = 15

        def write(own: GraphStore, name: str) -> None:
            for number in range(rounds):
                twin_id = f"{name}{number}"

                def apply(transaction: GraphTransaction, twin_id: str = twin_id) -> None:
                    transaction.append_events(build_events(twin_id))
                    transaction.put_twin(build_twin_record(twin_id))

                written = False
                while not written:  # a write that waited too long has changed nothing
                    with suppress(StorageBusy):
                        run(own, apply)
                        written = True

        threads = [
            threading.Thread(target=write, args=(own, name))
            for own, name in ((store, "a"), (other, "b"))
        ]
        for thread in threads:
            thread.start()
        followed: list[str] = []
        after = 0
        with reading(other) as session:
            while len(followed) < 2 * rounds and any(thread.is_alive() for thread in threads):
                for position, event in session.read_events(after=after, limit=3):
                    after = position
                    followed.append(event.subject)
                    assert session.has_twin(event.subject)
        for thread in threads:
            thread.join()
        with reading(store) as session:
            rest = session.read_events(after=after, limit=99)
            followed += [event.subject for _, event in rest]
            all_ = [event.subject for _, event in session.read_events(after=0, limit=99)]
        assert followed == all_
        assert len(all_) == 2 * rounds
        for name in "ab":
            own = [subject for subject in all_ if subject.startswith(name)]
            assert own == [f"{name}{number}" for number in range(rounds)]

    def test_events_are_no_part_of_the_graph(self, store: GraphStore) -> None:
        put(store, build_twin_record("t"))
        run(store, lambda t: t.append_events(build_events("x")))
        with reading(store) as session:
            assert [node.id for node in session.scan_nodes(None)] == ["t"]
            assert session.count_twins() == 1

    def test_the_outbox_is_no_part_of_what_the_graph_takes(self, store: GraphStore) -> None:
        """A graph at its storage limit must be able to delete, which also writes events."""
        event = OutboxEvent("t", b"x" * 20_000)

        def measure(count: int) -> int | None:
            def apply(transaction: GraphTransaction) -> int | None:
                transaction.append_events([event] * count)
                return transaction.measure_content()

            return run(store, apply)

        before = measure(1)
        if before is not None:
            after = measure(50)
            assert after is not None
            assert after - before < 50 * 20_000 // 4
            run(store, lambda t: t.delete_events(up_to=30, limit=99))
            again = measure(1)
            assert again is not None
            assert abs(again - before) < 50 * 20_000 // 4
