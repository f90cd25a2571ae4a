"""The faulty store fails as told, and only then."""

from __future__ import annotations

import pytest

from twinframe.errors import StorageBusy, StorageFull
from twinframe.storage.memory import MemoryStore
from twinframe.testing.contracts.base import put, reading, run
from twinframe.testing.factories import build_twin_record
from twinframe.testing.faulty_store import Fault, FaultKind, FaultyStore


@pytest.mark.parametrize(
    ("kind", "stored", "error"),
    [
        (FaultKind.REFUSE, False, StorageFull),
        (FaultKind.ROLL_BACK, False, StorageFull),
        (FaultKind.LOSE_REPLY, True, StorageFull),
        (FaultKind.RUN_TWICE, True, None),
    ],
)
def test_the_planned_call_fails_in_its_way(
    kind: FaultKind, stored: bool, error: type[Exception] | None
) -> None:
    store = FaultyStore(MemoryStore(), {2: Fault(kind, StorageFull("full"))})
    put(store, build_twin_record("first"))
    (outcome,) = store.write([lambda t: t.put_twin(build_twin_record("second"))])
    put(store, build_twin_record("third"))
    assert (type(outcome.error) if outcome.error else None) == error
    with reading(store) as session:
        found = [session.has_twin(x) for x in ("first", "second", "third")]
    assert found == [True, stored, True]
    assert store.writes == 3


def test_a_fault_without_an_error_is_a_busy_store() -> None:
    store = FaultyStore(MemoryStore(), {1: Fault(FaultKind.REFUSE)})
    with pytest.raises(StorageBusy):
        run(store, lambda _: None)


def test_a_work_that_runs_twice_does_so_on_the_same_state() -> None:
    store = FaultyStore(MemoryStore(), {1: Fault(FaultKind.RUN_TWICE)})
    seen: list[bool] = []

    def apply(transaction: object) -> None:
        seen.append(transaction.has_twin("a"))  # type: ignore[attr-defined]
        transaction.put_twin(build_twin_record("a"))  # type: ignore[attr-defined]

    run(store, apply)
    assert seen == [False, False]
