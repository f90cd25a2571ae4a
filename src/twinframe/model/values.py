"""The values of the query languages, shared by all engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import quote

from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import Date, DateTime, LocalDateTime, LocalTime, Time

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"


@dataclass(frozen=True, slots=True)
class Node:
    """A twin (or a model, label `Model`) as a value; identity is `id`.

    `document` is the whole JSON document with its system members; `labels` are `Twin`, and for the
    interface and each of its ancestors the DTMI and the DTMI's last name segment.
    """

    id: str
    document: Mapping[str, JsonValue] = field(compare=False)
    labels: frozenset[str] = field(compare=False, default=frozenset())


@dataclass(frozen=True, slots=True)
class Relationship:
    """A relationship as a value; identity is (source, id), since ids are unique per source twin."""

    source: str
    id: str
    target: str = field(compare=False)
    type: str = field(compare=False)
    document: Mapping[str, JsonValue] = field(compare=False)

    @property
    def element_id(self) -> str:
        """`source/id`, each part percent-encoded: ids are unique for a source only."""
        return f"{quote(self.source, safe='')}/{quote(self.id, safe='')}"


@dataclass(frozen=True, slots=True)
class Path:
    """Alternating nodes and relationships: one more node than relationships."""

    nodes: tuple[Node, ...]
    relationships: tuple[Relationship, ...]


Temporal: TypeAlias = Date | LocalTime | Time | LocalDateTime | DateTime | Duration
"""The temporal values. Documents contain none: they are JSON, and their times are strings."""

Value: TypeAlias = (
    "bool | int | float | str | list[Value] | dict[str, Value] "
    "| Node | Relationship | Path | Temporal | None"
)


_NONE: Final[frozenset[tuple[str, str]]] = frozenset()


def parameter_signature(parameters: Mapping[str, Value]) -> frozenset[tuple[str, str]]:
    """Return names and types of parameters: what the cache key of a compiled query needs.

    The type of a list includes the types of its elements, since `x IN $list` compiles by them.
    """
    # PERF: each run looks its plan up by this; a generator takes twice as long.
    if not parameters:
        return _NONE
    return frozenset([(name, _sign(value)) for name, value in parameters.items()])


def _sign(value: Value) -> str:
    if type(value) is list:
        return f"list[{','.join(sorted({type(item).__name__ for item in value}))}]"
    return type(value).__name__
