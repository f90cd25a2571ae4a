"""A model-based test of the control store's contract, which runs every call on the store and on a
simple model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
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


class ModelTransaction(ControlTransaction):
    """Things in a dictionary, scanned one by one."""

    def __init__(self, things: dict[str, Record], last: int) -> None:
        self.things = dict(things)
        self.last = last

    def snapshot(self) -> AbstractContextManager[None]:
        """Do nothing: there is no other writer."""
        return nullcontext()

    def read(self, kind: str, record_id: str) -> Record | None:
        """The thing."""
        del kind
        return self.things.get(record_id)

    def find(
        self,
        kind: str,
        conditions: Sequence[Condition] = (),
        *,
        order: Order = Order(),  # noqa: B008  (frozen)
        offset: int = 0,
        limit: int | None = None,
    ) -> Sequence[Record]:
        """Return those that meet all conditions, sorted."""
        del kind
        found = [
            thing
            for thing in self.things.values()
            if all(_is_met(each, _read_value(thing, each.key)) for each in conditions)
        ]
        found.sort(key=lambda thing: thing.id)
        found.sort(key=lambda thing: _place(_read_value(thing, order.key)))
        if order.descending:
            found.reverse()
        return found[offset:][:limit]

    def count(self, kind: str, conditions: Sequence[Condition] = ()) -> int:
        """Return how many meet all conditions."""
        return len(self.find(kind, conditions))

    def insert(self, record: Record) -> Record:
        """Insert a new one."""
        if record.id in self.things:
            raise RecordConflict("taken", kind=record.kind, record_id=record.id)
        return self._put(record)

    def update(self, record: Record) -> Record:
        """Replace the one of this version."""
        present = self.things.get(record.id)
        if present is None or present.version != record.version:
            raise RecordConflict("changed", kind=record.kind, record_id=record.id)
        return self._put(record)

    def delete(self, kind: str, record_id: str, version: int | None = None) -> bool:
        """Delete it."""
        present = self.things.get(record_id)
        if present is not None and version not in (None, present.version):
            raise RecordConflict("changed", kind=kind, record_id=record_id)
        return self.things.pop(record_id, None) is not None

    def _put(self, record: Record) -> Record:
        full = replace(record, keys={key: record.keys.get(key) for key in THING.keys})
        for other in self.things.values():
            for unique in THING.unique:
                same = all(full.keys[key] == other.keys[key] is not None for key in unique)
                if same and other.id != full.id:
                    raise RecordConflict("shared", kind=record.kind, record_id=record.id)
        self.last += 1
        self.things[full.id] = replace(full, version=self.last)
        return self.things[full.id]


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
    """Two open stores on the same records, and the model."""

    def __init__(self, make: Callable[[], ControlStore]) -> None:
        super().__init__()
        self._stores = [make(), make()]
        for store in self._stores:
            store.open(KINDS)
        self._model = ModelTransaction({}, 0)

    def teardown(self) -> None:
        """Check that the store is sound at the end."""
        faults = [*self._stores[0].verify()]
        for store in self._stores:
            store.close()
        assert faults == []

    @rule(which=st.integers(0, 1), batches=st.lists(BATCHES, min_size=1, max_size=3))
    def write(self, which: int, batches: list[Batch]) -> None:
        """Run one group of write functions: each succeeds in both, with the same results."""
        outcomes = self._stores[which].write([_build_work(batch) for batch in batches])
        for batch, outcome in zip(batches, outcomes, strict=True):
            trial = ModelTransaction(self._model.things, self._model.last)
            try:
                expected = _build_work(batch)(trial)
            except (RecordConflict, WriteFailedError) as error:
                wanted: type | None = type(error)
            else:
                wanted, self._model = None, trial
                assert outcome.result == expected, outcome
            assert type(outcome.error) is (wanted or type(None)), outcome

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
        expected = self._model.find("thing", conditions, order=order, offset=offset, limit=limit)
        assert _strip(found) == _strip(expected)
        assert counted == self._model.count("thing", conditions)

    @invariant()
    def agrees(self) -> None:
        """Compare everything, and the order of changes."""
        for store in self._stores:
            with reading(store) as session:
                found = session.find("thing", order=Order("version"))
                assert _strip(found) == _strip(self._model.find("thing", order=Order("version")))
                for thing in found:
                    assert session.read("thing", thing.id) == thing
            assert len({thing.version for thing in found}) == len(found)


class ControlModelContract(ControlContract):
    """Any sequence of calls behaves as the model."""

    def test_any_sequence_of_calls_agrees_with_the_model(self, tmp_path: Path) -> None:
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


def _read_value(thing: Record, key: str) -> Key:
    own: dict[str, Key] = {"id": thing.id, "version": thing.version}
    return own[key] if key in own else thing.keys[key]


def _place(value: Key) -> tuple[bool, bool, int, bytes]:
    is_text = isinstance(value, str)
    number = value if isinstance(value, int) else 0
    return value is not None, is_text, number, str(value).encode() if is_text else b""


def _is_met(condition: Condition, value: Key) -> bool:
    wanted = condition.value
    if isinstance(wanted, tuple):
        return value in wanted
    if condition.test is Comparison.EQUAL or value is None or wanted is None:
        return condition.test is Comparison.EQUAL and value == wanted
    left, right = _place(value), _place(wanted)
    return {
        Comparison.BELOW: left < right,
        Comparison.AT_MOST: left <= right,
        Comparison.ABOVE: left > right,
        Comparison.AT_LEAST: left >= right,
    }[condition.test]
