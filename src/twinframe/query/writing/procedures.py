"""Procedures: their signatures, what they may do, and the graph that they get."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from twinframe.model.temporal.durations import Duration
from twinframe.model.values import Node, Path, Relationship, Temporal, Value
from twinframe.query.reader import GraphReader
from twinframe.query.writing.port import Effect

TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "ANY": (object,),
    "BOOLEAN": (bool,),
    "STRING": (str,),
    "INTEGER": (int,),
    "FLOAT": (float, int),
    "NUMBER": (int, float),
    "LIST": (list,),
    "MAP": (dict,),
    "NODE": (Node,),
    "RELATIONSHIP": (Relationship,),
    "PATH": (Path,),
    "TEMPORAL": Temporal.__args__,
    "DURATION": (Duration,),
}
"""The types of arguments and results, by name; an argument of one with `?` may be null."""


class ProcedureGraph(ABC):
    """The graph as the clauses before the call left it, within the transaction of the statement.

    Each write is checked as one of the REST API is, and only what the procedure declares as its
    `effects` is allowed. Errors are those of the writes; any error ends the statement, of which
    nothing is kept. Do not catch them.
    """

    @property
    @abstractmethod
    def reader(self) -> GraphReader:
        """Reads the graph. Call its `check_deadline` in long loops."""

    @abstractmethod
    def create_node(self, labels: Sequence[str], properties: Mapping[str, Value]) -> Node:
        """Create a node, as `CREATE (:Label {...})` does."""

    @abstractmethod
    def create_relationship(
        self, source: Node, target: Node, kind: str, properties: Mapping[str, Value]
    ) -> Relationship:
        """Create a relationship, as `CREATE (a)-[:KIND {...}]->(b)` does."""

    @abstractmethod
    def set_properties(self, entity: Node | Relationship, properties: Mapping[str, Value]) -> None:
        """Set properties, as `SET n += {...}` does; null removes one."""

    @abstractmethod
    def delete(self, entity: Node | Relationship, *, detach: bool = False) -> None:
        """Delete a node or relationship, with `detach` a node with its relationships."""


RunProcedure: TypeAlias = Callable[[ProcedureGraph, Sequence[Value]], Iterable[Sequence[Value]]]
"""Yields rows of results for arguments."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure: `arguments` and `results` are names and types, such as `("in", "INTEGER?")`.

    `run` may be called for each row of a statement, and again if the transaction is repeated: it
    keeps nothing and does nothing outside the graph. It runs in a thread. `effects` are all that it
    may do to the graph. `permission` is one that callers need beside those of the effects.
    """

    name: str
    arguments: tuple[tuple[str, str], ...]
    results: tuple[tuple[str, str], ...]
    run: RunProcedure
    description: str = ""
    effects: frozenset[Effect] = frozenset({Effect.READ})
    permission: str = ""

    def __post_init__(self) -> None:
        for name, kind in (*self.arguments, *self.results):
            if kind.rstrip("?") not in TYPES:
                known = ", ".join(TYPES)
                raise ValueError(f"{self.name}: {name} has the type {kind}; there are {known}.")

    @property
    def signature(self) -> str:
        """The signature as text: `db.labels() :: (label :: STRING)`."""
        given = ", ".join(f"{name} :: {kind}" for name, kind in self.arguments)
        made = ", ".join(f"{name} :: {kind}" for name, kind in self.results)
        return f"{self.name}({given}) :: ({made})"

    @property
    def writes(self) -> bool:
        """Whether it may change the graph."""
        return bool(self.effects - {Effect.READ})


def accepts(kind: str, value: Value) -> bool:
    """Whether a value may be an argument of this type."""
    if value is None:
        return kind.endswith("?") or kind == "ANY"
    types = TYPES[kind.rstrip("?")]
    return isinstance(value, types) and not (
        isinstance(value, bool) and bool not in types and object not in types
    )


Procedures: TypeAlias = Mapping[str, Procedure]
"""Procedures by their names."""

NO_PROCEDURES: Final[Procedures] = {}
