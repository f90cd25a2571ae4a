"""Procedures: their signatures, and the form in which plugins declare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from twinframe.model.temporal.durations import Duration
from twinframe.model.values import Node, Path, Relationship, Temporal, Value
from twinframe.query.reader import GraphReader

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

RunProcedure: TypeAlias = Callable[[GraphReader, Sequence[Value]], Iterable[Sequence[Value]]]
"""Yields rows of results for arguments, reading the graph as the statement sees it."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure: `arguments` and `results` are names and types, such as `("in", "INTEGER?")`.

    `run` reads the graph alone; it may be called for each row of a statement, and more than once.
    """

    name: str
    arguments: tuple[tuple[str, str], ...]
    results: tuple[tuple[str, str], ...]
    run: RunProcedure
    description: str = ""

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
