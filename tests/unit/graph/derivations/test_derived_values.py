"""Derived values equal those computed anew, whatever was written, and wherever it stopped."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.derived_world import DERIVATIONS, DerivedWorld
from tests.storages import choose
from tests.unit.graph.conftest import build_sqlite, find_engine
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore

WRITES = int(os.environ.get("TWINFRAME_WRITES", "300"))
GROUPS = max(WRITES // 10_000, 1)
SEED = int(os.environ.get("TWINFRAME_SEED", "1"))
_RANDOM = st.randoms(use_true_random=False)


class DerivingMachine(RuleBasedStateMachine):
    """Random writes, definitions at random times, ends of the process at random writes."""

    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        store: GraphStore = MemoryStore()
        if self.kind == "sqlite":
            store = build_sqlite(Path(self._folder.name))
        store.open()
        self.store = store
        self.world = DerivedWorld(InlineRunner(store), find_engine(store))

    @initialize(defined=st.sets(st.sampled_from(sorted(DERIVATIONS))))
    def define_some(self, defined: set[str]) -> None:
        for derivation_id in sorted(defined):
            self.world.define(derivation_id)

    @rule(random=_RANDOM, count=st.integers(1, 12))
    def write(self, random: Random, count: int) -> None:
        for _ in range(count):
            self.world.write(random)

    @rule(derivation_id=st.sampled_from(sorted(DERIVATIONS)))
    def define(self, derivation_id: str) -> None:
        self.world.define(derivation_id)

    @rule()
    def settle(self) -> None:
        self.world.settle()

    @rule(halves=st.integers(1, 12))
    def stop(self, halves: int) -> None:
        self.world.stop_after(halves / 2)

    def teardown(self) -> None:
        try:
            for derivation_id in DERIVATIONS:
                self.world.define(derivation_id)
            self.world.check()
        finally:
            self.world.close()
            self.store.close()
            self._folder.cleanup()


class MachineOverSqlite(DerivingMachine):
    kind = "sqlite"


_LIMITS = settings(max_examples=15, stateful_step_count=12, deadline=None)
TestOverMemory = DerivingMachine.TestCase
TestOverMemory.settings = _LIMITS
if "sqlite" in choose("memory", "sqlite"):
    TestOverSqlite = MachineOverSqlite.TestCase
    TestOverSqlite.settings = _LIMITS


@pytest.fixture
def deriving(store: GraphStore) -> Iterator[DerivedWorld]:
    runner = InlineRunner(store, keeps_sessions=True)
    world = DerivedWorld(runner, find_engine(store), groups=GROUPS)
    for derivation_id in DERIVATIONS:
        world.define(derivation_id)
    yield world
    world.close()
    runner.close()


def test_values_are_true_after_many_random_writes(deriving: DerivedWorld) -> None:
    """`make test-derived` writes a million times.

    Of many groups of twins, as many writes come between two looks, so that each group sees as many
    as one alone.
    """
    random = Random(SEED)
    for _ in range(0, WRITES, GROUPS):
        deriving.write(random, GROUPS)
        match random.randrange(60):
            case 0:
                deriving.check()
            case 1 | 2:
                deriving.settle()
            case 3 | 4 | 5:
                deriving.stop_after(random.randrange(1, 8) / 2)
            case _:
                pass
    deriving.check()
