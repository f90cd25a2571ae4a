"""The reference graph store, which keeps a graph in this process's memory.

It defines the meaning of the interface and serves for tests and trials. Each worker process has its
own graph, so serve it with one worker.
"""

from __future__ import annotations

import secrets
import threading
import uuid
from collections.abc import Sequence

from twinframe import hookimpl
from twinframe.settings import Section
from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    Instance,
    Outcome,
    Placement,
    StoreTraits,
    WriteFunction,
)
from twinframe.storage.control import ControlStore
from twinframe.storage.control_memory import MemoryControlStore
from twinframe.storage.memory_session import MemorySession, MemoryTransaction
from twinframe.storage.memory_state import GraphState, find_faults


class MemoryGraph:
    """The data of one graph; stores opened on the same object share it, as on one file."""

    def __init__(self) -> None:
        self.instance = Instance(id=str(uuid.uuid4()), secret=secrets.token_bytes(32))
        self.state = GraphState()
        self.turn = threading.Lock()


class MemoryStore(GraphStore):
    """A store over a `MemoryGraph`, a new one unless given; the data live as long as it."""

    traits = StoreTraits(point_reads=Placement.INLINE, shared=False)

    def __init__(self, graph: MemoryGraph | None = None) -> None:
        self._graph = graph or MemoryGraph()

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing; the graph stays, and opening the store again finds it."""

    def session(self) -> GraphSession:
        """A session that sees the newest state at each call."""
        graph = self._graph
        return MemorySession(graph.instance, lambda: graph.state)

    def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run the write functions one after the other on the newest state, then publish the
        result.
        """
        graph = self._graph
        outcomes: list[Outcome[object]] = []
        with graph.turn:
            state = graph.state
            for function in functions:
                transaction = MemoryTransaction(graph.instance, state)
                try:
                    result = function(transaction)
                except Exception as error:  # noqa: BLE001  (the seam: each work gets its own error)
                    outcomes.append(Outcome(error=error))
                else:
                    outcomes.append(Outcome(result=result))
                    state = transaction.state
            graph.state = state
        return outcomes

    def verify(self) -> Sequence[str]:
        """Compare records and indexes."""
        return list(find_faults(self._graph.state))

    def remove(self, timeout: float) -> None:
        """Replace the graph by a new, empty one of another identity."""
        graph = self._graph
        with graph.turn:
            graph.instance = Instance(id=str(uuid.uuid4()), secret=secrets.token_bytes(32))
            graph.state = GraphState()


@hookimpl
def twinframe_graph_store(settings: Section, graph: str) -> GraphStore:
    """Build a new empty graph, whatever its settings and name."""
    del settings, graph
    return MemoryStore()


@hookimpl
def twinframe_control_store(settings: Section, name: str) -> ControlStore:
    """Build a new empty store of records, whatever its settings and name."""
    del settings, name
    return MemoryControlStore()
