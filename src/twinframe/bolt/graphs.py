"""The graphs of a service as the databases of Bolt: the port, and the service's own graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

from twinframe.access.gate import Gate, RequestInfo
from twinframe.access.permissions import Caller
from twinframe.errors import GraphNotFound
from twinframe.graph import Graph


class Ran(NamedTuple):
    """A statement that was run, for statistics and the audit log of its graph.

    `status` is that of the same request over HTTP, `seconds` how long the first rows took.
    """

    writes: bool
    status: int
    seconds: float
    charge: float
    caller: Caller | None
    request_info: RequestInfo


def ignore(_ran: Ran) -> None:
    """Note nothing."""


@dataclass(frozen=True, slots=True)
class Database:
    """A graph in use: its name, the gate in front of it (None: open to all), and the caller there.

    The caller has its permissions for this graph, which are for one message only; None if they are
    those of its connection. `note` takes each statement that was run.
    """

    name: str
    graph: Graph
    gate: Gate | None
    caller: Caller | None
    note: Callable[[Ran], None] = ignore


class Databases(ABC):
    """Finds graphs by the names of databases."""

    home: str
    """The name of the graph that a client gets without naming one."""

    @abstractmethod
    def use(
        self, name: str, caller: Caller | None, request_info: RequestInfo
    ) -> AbstractAsyncContextManager[Database]:
        """Return a context in which the graph is open.

        Raises `GraphNotFound`, also for a caller without any permission there, and `StorageError`.
        """


class OwnDatabase(Databases):
    """The service's own graph alone."""

    def __init__(self, graph: Graph, gate: Gate | None, name: str) -> None:
        self.home = name
        self._used = nullcontext(Database(name, graph, gate, None))

    def use(
        self, name: str, caller: Caller | None, request_info: RequestInfo
    ) -> AbstractAsyncContextManager[Database]:
        """Return the graph if it has this name."""
        if name != self.home:
            raise GraphNotFound
        return self._used
