"""The typed syntax tree of a filter; `compiler` defines its meaning."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from twinframe.model.values import JsonValue


class Comparator(enum.Enum):
    """How two values are compared."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


class Moment(enum.Enum):
    """Whether a value is that before the event, or that after it."""

    OLD = "OLD"
    NEW = "NEW"


class Crossing(enum.Enum):
    """In which direction a threshold is crossed."""

    ANY = "CROSSED"
    ABOVE = "CROSSED_ABOVE"
    BELOW = "CROSSED_BELOW"


# --- values -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the envelope, or `$eventType`, the older name of some types."""

    name: str


@dataclass(frozen=True, slots=True)
class Body:
    """`$body.a.b`: the value at a path of the event's data."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Property:
    """`OLD(a.b)`, `NEW(a.b)`: a property of the twin or relationship before or after the event."""

    moment: Moment
    path: tuple[str, ...]


Operand: TypeAlias = Literal | Attribute | Body | Property


# --- conditions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values compared."""

    comparator: Comparator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Membership:
    """`value IN [...]`, with `negated` NIN."""

    operand: Operand
    items: tuple[JsonValue, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Test:
    """A function of values that yields a truth value, by its upper-case name."""

    name: str
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """`CHANGED(a.b)`: whether the event changed the value at the path, or something below it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Crossed:
    """`CROSSED(a.b, 30)`: whether a number crossed a threshold."""

    crossing: Crossing
    path: tuple[str, ...]
    threshold: int | float


@dataclass(frozen=True, slots=True)
class OfModel:
    """`IS_OF_MODEL('dtmi:...;1')`: whether the twin is of the model, or unless exact, a derived
    one.
    """

    model_id: str
    exact: bool


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT condition`."""

    operand: Condition


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions of which all (`AND`) or at least one (`OR`) must hold."""

    every: bool
    operands: tuple[Condition, ...]


Condition: TypeAlias = (
    Constant | Comparison | Membership | Test | Changed | Crossed | OfModel | Negation | Junction
)
