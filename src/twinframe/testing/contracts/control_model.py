"""A model-based test of the control store's contract, which runs every call on the store and on the
reference store.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, cast

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlStore,
    ControlTransaction,
    ControlWriteFunction,
    Key,
    Order,
    Record,
    RecordConflict,
)
from twinframe.storage.control_memory import MemoryControlStore
from twinframe.testing.contracts.control_base import KINDS, THING, ControlContract, reading

EXAMPLES: Final = 40
STEPS: Final = 30

_IDS: Final = st.sampled_from(["", "a", "b", "é", "z"])
_VALUES: Final = st.sampled_from([None, None, -(2**63), 0, 1, "", "1", "a", "é"])
_KEYS: Final = st.fixed_dictionaries({}, optional=dict.fromkeys(THING.keys, _VALUES))
_NAMES: Final = st.sampled_from([*THING.keys, "id"])


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a thing; one with a `drift` names another version than the present."""

    verb: Literal["insert", "update", "delete"]
    record_id: str
    keys: dict[str, Key]
    drift: int


@dataclass(frozen=True, slots=True)
class Batch:
    """The changes of one write function, and whether it then continues, or fails as a whole."""

    changes: tuple[Change, ...]
    handles: bool
    fails: bool


class WriteFailedError(Exception):
    """Raised by write functions of the machine on purpose."""


@st.composite
def build_condition(draw: st.DrawFn) -> Condition:
    """Any condition on a thing."""
    key, test = draw(_NAMES), draw(st.sampled_from(Comparison))
    value = _IDS if key == "id" else _VALUES
    if test is Comparison.IN:
        return Condition(key, test, tuple(draw(st.lists(value, max_size=3))))
    return Condition(key, test, draw(value))


CHANGES: Final = st.builds(
    Change,
    verb=st.sampled_from(["insert", "insert", "update", "delete"]),
    record_id=_IDS,
    keys=_KEYS,
    drift=st.sampled_from([0, 0, 0, 0, 1, -1]),
)
BATCHES: Final = st.builds(
    Batch,
    changes=st.lists(CHANGES, min_size=1, max_size=4).map(tuple),
    handles=st.booleans(),
    fails=st.sampled_from([False, False, False, True]),
)
ORDERS: Final = st.builds(Order, key=st.one_of(_NAMES, st.just("version")))
ORDERS_EITHER_WAY: Final = st.builds(replace, ORDERS, descending=st.booleans())


class ControlMachine(RuleBasedStateMachine):
    """Two open stores on the same records, and the reference store."""

    def __init__(self, make: Callable[[], ControlStore]) -> None:
        super().__init__()
        self._stores = [make(), make()]
        for store in self._stores:
            store.open(KINDS)
        self._model = MemoryControlStore()
        self._model.open(KINDS)

    def teardown(self) -> None:
        """Check that the store is sound at the end."""
        faults = [*self._stores[0].verify()]
        for store in self._stores:
            store.close()
        assert faults == []

    @rule(which=st.integers(0, 1), batches=st.lists(BATCHES, min_size=1, max_size=3))
    def write(self, which: int, batches: list[Batch]) -> None:
        """Run one group of write functions: each succeeds in both, with the same results."""
        functions = [_build_work(batch) for batch in batches]
        outcomes = self._stores[which].write(functions)
        for outcome, expected in zip(outcomes, self._model.write(functions), strict=True):
            assert outcome.result == expected.result, outcome
            assert type(outcome.error) is type(expected.error), outcome

    @rule(
        which=st.integers(0, 1),
        conditions=st.lists(build_condition(), max_size=3),
        order=ORDERS_EITHER_WAY,
        offset=st.integers(0, 3),
        limit=st.one_of(st.none(), st.integers(0, 3)),
    )
    def find(
        self,
        which: int,
        conditions: list[Condition],
        order: Order,
        offset: int,
        limit: int | None,
    ) -> None:
        """Compare one listing and its count."""
        with reading(self._stores[which]) as session:
            found = session.find("thing", conditions, order=order, offset=offset, limit=limit)
            counted = session.count("thing", conditions)
        with reading(self._model) as session:
            expected = session.find("thing", conditions, order=order, offset=offset, limit=limit)
            assert counted == session.count("thing", conditions)
        assert _strip(found) == _strip(expected)

    @invariant()
    def agrees(self) -> None:
        """Compare everything, and the order of changes."""
        with reading(self._model) as session:
            expected = _strip(session.find("thing", order=Order("version")))
        for store in self._stores:
            with reading(store) as session:
                found = session.find("thing", order=Order("version"))
                assert _strip(found) == expected
                for thing in found:
                    assert session.read("thing", thing.id) == thing
            assert len({thing.version for thing in found}) == len(found)


class ControlModelContract(ControlContract):
    """Any sequence of calls behaves as in the reference store."""

    def test_any_sequence_of_calls_agrees_with_the_reference_store(self, tmp_path: Path) -> None:
        numbers = itertools.count()

        def build_machine() -> ControlMachine:
            place = tmp_path / str(next(numbers))
            place.mkdir()
            return ControlMachine(self.make_opener(place))

        run_state_machine_as_test(
            cast("type[ControlMachine]", build_machine),  # accepts any machine function
            settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None),
        )


def _build_work(batch: Batch) -> ControlWriteFunction[list[str]]:
    def apply(transaction: ControlTransaction) -> list[str]:
        told = []
        for change in batch.changes:
            try:
                told.append(_apply(transaction, change))
            except RecordConflict as error:
                if not batch.handles:
                    raise
                told.append(f"conflict over {error.kind} {error.record_id!r}")
        if batch.fails:
            raise WriteFailedError
        return told

    return apply


def _apply(transaction: ControlTransaction, change: Change) -> str:
    present = transaction.read("thing", change.record_id)
    version = (present.version if present else 0) + change.drift
    record = Record("thing", change.record_id, b'{"n": 1}', change.keys, version)
    match change.verb:
        case "insert":
            return f"inserted {transaction.insert(record).keys}"
        case "update":
            return f"updated {transaction.update(record).keys}"
        case "delete":
            return f"deleted {transaction.delete('thing', change.record_id, version)}"


def _strip(records: Sequence[Record]) -> list[Record]:
    """Return them without versions: failed writes may use some."""
    return [replace(record, version=0) for record in records]
