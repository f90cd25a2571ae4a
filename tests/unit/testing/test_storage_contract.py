"""The published contract can be inherited from outside and finds drivers that break it."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

BROKEN = '''
from twinframe.storage.memory import MemoryGraph, MemoryStore
from twinframe.testing.storage_contract import GraphStoreContract


class ForgetfulStore(MemoryStore):
    """Publishes nothing of a batch in which a work failed."""

    def write(self, works):
        before = self._graph.state
        outcomes = super().write(works)
        if any(outcome.error for outcome in outcomes):
            self._graph.state = before
        return outcomes


class TestForgetful(GraphStoreContract):
    def make_store(self, place):
        graphs = self.__dict__.setdefault("graphs", {})
        return ForgetfulStore(graphs.setdefault(place, MemoryGraph()))
'''


def test_a_driver_that_loses_neighbours_of_a_failed_work_is_found(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(BROKEN)
    # NOTE: whether the racing works meet the fault depends on who comes first: left out.
    result = pytester.runpytest_subprocess("-q", "-W", "error", "-k", "not racing")
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 3
    assert outcomes["passed"] > 100
    result.stdout.fnmatch_lines(
        ["FAILED *test_a_work_that_raises_leaves_nothing_and_its_neighbours_live*"]
    )
