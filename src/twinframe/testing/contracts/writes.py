"""The storage contract for atomicity, isolation and visibility of writes."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from twinframe.errors import PreconditionFailed, QueryTimeout, TwinframeError
from twinframe.query.engine import CannotRun
from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    GraphTransaction,
    OutboxEvent,
    WriteFunction,
)
from twinframe.testing.contracts.base import StoreContract, put, reading, run, run_all
from twinframe.testing.factories import (
    build_model_id,
    build_model_record,
    build_relationship_record,
    build_twin_record,
)


class WriteRefusedError(Exception):
    """Raised by write functions of the contract on purpose."""


def _putting(twin_id: str, *, then_fail: bool = False) -> WriteFunction[object]:
    def apply(transaction: GraphTransaction) -> str:
        transaction.put_twin(build_twin_record(twin_id))
        if then_fail:
            raise WriteRefusedError(twin_id)
        return twin_id

    return apply


class WriteContract(StoreContract):
    """One write is all or nothing, writes of a batch are independent, and acknowledged ones are
    seen.
    """

    def test_no_works_are_no_outcomes(self, store: GraphStore) -> None:
        assert list(store.write([])) == []

    def test_the_result_of_a_work_is_its_outcome(self, store: GraphStore) -> None:
        outcomes = run_all(store, _putting("a"), _putting("b"), lambda _: None)
        assert [outcome.result for outcome in outcomes] == ["a", "b", None]
        assert [outcome.error for outcome in outcomes] == [None, None, None]

    def test_a_work_that_raises_leaves_nothing_and_its_neighbours_live(
        self, store: GraphStore
    ) -> None:
        outcomes = run_all(store, _putting("a"), _putting("b", then_fail=True), _putting("c"))
        assert isinstance(outcomes[1].error, WriteRefusedError)
        assert (outcomes[0].error, outcomes[2].error) == (None, None)
        with reading(store) as session:
            assert [session.has_twin(x) for x in "abc"] == [True, False, True]

    def test_a_work_that_fails_late_undoes_every_kind_of_write(self, store: GraphStore) -> None:
        put(store, build_model_record("Kept"), build_twin_record("a"), build_twin_record("b"))
        put(store, build_relationship_record("a", "r", "b"))
        with reading(store) as session:
            before = _describe(session)

        def apply(transaction: GraphTransaction) -> None:
            transaction.put_twin(build_twin_record("a", changed=1))
            transaction.put_twin(build_twin_record("c", model="Fresh"))
            transaction.put_relationship(build_relationship_record("c", "r", "b"))
            transaction.delete_relationship("a", "r")
            transaction.delete_twin("a")
            transaction.put_models([build_model_record("New", extends=["Kept"])])
            transaction.set_decommissioned(build_model_id("Kept"), True)
            transaction.put_entry("kind", "key", b"{}")
            transaction.append_events([OutboxEvent("c", b"{}")])
            raise WriteRefusedError

        (outcome,) = run_all(store, apply)
        assert isinstance(outcome.error, WriteRefusedError)
        with reading(store) as session:
            assert _describe(session) == before

    def test_a_schema_version_that_was_taken_back_is_never_given_again(
        self, store: GraphStore
    ) -> None:
        """A cache under that version would mistake later models for these."""
        seen: list[int] = []

        def upload(name: str, *, then_fail: bool) -> WriteFunction[object]:
            def apply(transaction: GraphTransaction) -> None:
                transaction.put_models([build_model_record(name)])
                seen.append(transaction.read_schema_version())
                if then_fail:
                    raise WriteRefusedError

            return apply

        run_all(store, upload("A", then_fail=True))
        run_all(store, upload("B", then_fail=True), upload("C", then_fail=False))
        with reading(store) as session:
            assert session.read_schema_version() == seen[-1]
        assert len(set(seen)) == len(seen) >= 3  # a store may run the functions again

    def test_an_error_of_the_store_inside_a_work_can_be_handled_there(
        self, store: GraphStore
    ) -> None:
        def apply(transaction: GraphTransaction) -> str:
            transaction.put_twin(build_twin_record("a"))
            try:
                transaction.delete_twin("x")
            except TwinframeError as error:
                return error.code
            return ""

        assert run(store, apply) == "DigitalTwinNotFound"
        with reading(store) as session:
            assert session.has_twin("a")

    def test_reads_inside_a_work_see_its_own_writes(self, store: GraphStore) -> None:
        def apply(transaction: GraphTransaction) -> None:
            transaction.put_twin(build_twin_record("a"))
            transaction.put_twin(build_twin_record("b"))
            transaction.put_relationship(build_relationship_record("a", "r", "b"))
            assert transaction.read_twin("a") is not None
            assert transaction.has_relationships("b")
            assert len(transaction.read_incoming("b", after=None, limit=9)) == 1
            assert {node.id for node in transaction.scan_nodes(None)} == {"a", "b"}
            with transaction.snapshot():
                transaction.delete_relationship("a", "r")
                assert transaction.read_relationship("a", "r") is None

        run(store, apply)

    def test_a_work_sees_the_works_before_it_in_the_batch(self, store: GraphStore) -> None:
        def conditional(transaction: GraphTransaction) -> str:
            if transaction.has_twin("a"):
                raise PreconditionFailed("there is a twin a")
            transaction.put_twin(build_twin_record("a"))
            return "created"

        first, second = run_all(store, conditional, conditional)
        assert first.result == "created"
        assert isinstance(second.error, PreconditionFailed)

    def test_a_session_sees_what_was_acknowledged_before(
        self, store: GraphStore, other: GraphStore
    ) -> None:
        with reading(store) as session, reading(other) as second:
            assert not session.has_twin("a")
            assert not second.has_twin("a")
            put(store, build_twin_record("a"))
            assert session.has_twin("a")
            assert second.has_twin("a")
            put(other, build_twin_record("b"))
            assert session.has_twin("b")
            assert second.has_twin("b")

    def test_a_snapshot_shows_one_state(self, store: GraphStore, other: GraphStore) -> None:
        put(store, build_twin_record("a"), build_twin_record("b"))
        put(store, build_relationship_record("a", "r", "b"))
        with reading(store) as session:
            with session.snapshot():
                before = _describe(session)
                put(other, build_twin_record("a", changed=1), build_twin_record("c"))
                run(other, lambda t: t.delete_relationship("a", "r"))
                put(other, build_model_record("New"))
                assert _describe(session) == before
            assert session.has_twin("c")
            assert session.read_relationship("a", "r") is None

    def test_a_scan_in_a_snapshot_is_not_disturbed_by_writes(
        self, store: GraphStore, other: GraphStore
    ) -> None:
        put(store, *(build_twin_record(f"t{n}") for n in range(50)))
        with reading(store) as session, session.snapshot():
            nodes = session.scan_nodes(None)
            seen = [next(nodes).id]
            for n in range(50):
                run(other, lambda t, n=n: t.delete_twin(f"t{n}"))  # type: ignore[misc]
            put(other, build_twin_record("new"))
            seen += [node.id for node in nodes]
        assert sorted(seen) == sorted(f"t{n}" for n in range(50))

    def test_a_snapshot_past_its_deadline_stops_a_scan(self, store: GraphStore) -> None:
        put(store, *(build_twin_record(f"t{n}") for n in range(2000)))
        with (
            reading(store) as session,
            pytest.raises(QueryTimeout),
            session.snapshot(time.monotonic() - 1),
        ):
            list(session.scan_nodes(None))

    def test_a_session_works_on_after_a_deadline(self, store: GraphStore) -> None:
        put(store, *(build_twin_record(f"t{n}") for n in range(2000)))
        with reading(store) as session:
            with pytest.raises(QueryTimeout), session.snapshot(time.monotonic() - 1):
                list(session.scan_nodes(None))
            assert len(list(session.scan_nodes(None))) == 2000

    def test_an_interrupted_snapshot_ends_what_runs_or_nothing(self, store: GraphStore) -> None:
        put(store, *(build_twin_record(f"t{n}") for n in range(2000)))
        with reading(store) as session:
            with contextlib.suppress(QueryTimeout), session.snapshot():
                session.interrupt()
                assert len(list(session.scan_nodes(None))) == 2000
            with session.snapshot():
                assert len(list(session.scan_nodes(None))) == 2000

    def test_a_short_snapshot_is_declined_or_shows_one_state(
        self, store: GraphStore, other: GraphStore
    ) -> None:
        with reading(store) as session, contextlib.suppress(CannotRun):
            with session.short_snapshot(5_000, 10.0):
                assert not session.has_twin("a")
                put(other, build_twin_record("a"))
                assert not session.has_twin("a")
            assert session.has_twin("a")

    def test_a_short_snapshot_is_declined_or_ends_what_is_not_short(
        self, store: GraphStore
    ) -> None:
        put(store, *(build_twin_record(f"t{number}") for number in range(50)))
        with reading(store) as session:
            for steps, seconds in ((10, 600.0), (10**9, 0.01)):
                with pytest.raises((QueryTimeout, CannotRun)):
                    _scan_shortly(session, steps, seconds)
            assert len(list(session.scan_nodes(None))) == 50  # without any bound again

    def test_steps_begin_anew_with_each_snapshot(self, store: GraphStore) -> None:
        put(store, *(build_twin_record(f"t{n}") for n in range(2000)))
        with reading(store) as session:
            counted = []
            for _ in range(6):
                with session.snapshot():
                    assert session.read_steps() == 0
                    list(session.scan_nodes(None))
                    counted.append(session.read_steps())
            # NOTE: steps may be CPU time, and a garbage collection in one snapshot adds to it; work
            # that continued from earlier snapshots would add to all that follow.
            assert min(counted[3:]) <= min(counted[:3]) * 2

    def test_of_racing_conditional_works_exactly_one_wins(
        self, store: GraphStore, other: GraphStore
    ) -> None:
        first = build_twin_record("a", n=0)
        put(store, first)
        results: list[str] = []

        def conditional(transaction: GraphTransaction) -> str:
            stored = transaction.read_twin("a")
            if stored is None or stored.etag != first.etag:
                raise PreconditionFailed("another etag")
            transaction.put_twin(build_twin_record("a", n=1))
            return "won"

        def race(own: GraphStore) -> None:
            for _ in range(5):
                (outcome,) = own.write([conditional])
                results.append("lost" if outcome.error else str(outcome.result))

        threads = [threading.Thread(target=race, args=(own,)) for own in (store, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == ["lost"] * 9 + ["won"]

    def test_sessions_of_several_threads_read_at_once(self, store: GraphStore) -> None:
        put(store, *(build_twin_record(f"t{n}") for n in range(100)))
        counts: list[int] = []

        def read() -> None:
            with reading(store) as session:
                counts.extend(len(list(session.scan_nodes(None))) for _ in range(10))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        put(store, *(build_twin_record(f"t{n}", again=1) for n in range(100)))
        for thread in threads:
            thread.join()
        assert counts == [100] * 40


def _describe(session: GraphSession) -> object:
    """Return everything that a session can see, for comparison."""
    return (
        sorted(
            (node.id, repr(node.document), sorted(node.labels)) for node in session.scan_nodes(None)
        ),
        sorted((r.source, r.id, r.target) for r in session.scan_relationships([])),
        list(session.read_models(after=0, limit=99)),
        session.read_model_ids(),
        session.read_schema_version(),
        [session.read_incoming(x, after=None, limit=9) for x in "abc"],
        session.read_entries("kind", after=None, limit=9),
        session.read_events(after=0, limit=9),
        session.read_event_bounds(),
    )


def _scan_shortly(session: GraphSession, steps: int, seconds: float) -> None:
    with session.short_snapshot(steps, seconds):
        while True:
            list(session.scan_nodes(None))
