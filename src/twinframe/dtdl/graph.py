"""The parsed form of model documents before the checks across elements: elements and references.

`twinframe.dtdl.structure` checks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias

from twinframe.dtdl.context import Context
from twinframe.dtdl.findings import DocumentPath
from twinframe.dtdl.literals import Literal
from twinframe.dtdl.metamodel import AdjunctRule, PropertyRule


@dataclass(frozen=True, slots=True)
class Predefined:
    """A value that the language itself defines, such as the schema `double` or the unit `metre`."""

    name: str


Value: TypeAlias = str | Predefined
"""A value of an ELEMENT property: the DTMI of an element, or a predefined value."""


# PERF: every predefined value, and every list of just one, is a single object: thousands of equal
# ones would slow each garbage collection. The language bounds the number of names.
@cache
def predefined(name: str) -> Predefined:
    """Return the predefined value of a name the language defines."""
    return Predefined(name)


def pack_values(values: list[Value]) -> tuple[Value, ...]:
    """Return the values of a property in the form in which they are kept."""
    if len(values) == 1 and isinstance(values[0], Predefined):
        return _alone(values[0])
    return tuple(values)


@cache
def _alone(value: Predefined) -> tuple[Value, ...]:
    return (value,)


# PERF: most elements have no literal but their name and no value but a schema.
_NONE: Mapping[str, Any] = MappingProxyType({})


def _none() -> Mapping[str, Any]:
    return _NONE


@dataclass(slots=True, eq=False)
class Element:
    """One element of a model: its class, its literals and the elements it points to.

    `literals` are the values of literal properties, `values` of those whose values are elements,
    `others` of those that take any JSON. `partition` is the DTMI of its interface; `parent` is the
    element around it and `rule` the property of that it is a value of; `tolerant`: errors of older
    models that a user may tolerate are tolerated here.
    """

    id: str
    cls: str
    context: Context
    document_path: DocumentPath
    partition: str
    parent: Element | None
    rule: PropertyRule
    generated_id: bool
    resolved: bool
    tolerant: bool = False
    adjuncts: tuple[AdjunctRule, ...] = ()
    undefined_types: bool = False
    inferred: bool = False
    literals: Mapping[str, Literal] = field(default_factory=_none)
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=_none)
    others: Mapping[str, object] = field(default_factory=_none)

    def one(self, name: str) -> Value | None:
        """Return the single value of an ELEMENT property, or None where it is absent."""
        values = self.values.get(name)
        return values[0] if values else None

    @property
    def name(self) -> str:
        """The `name` of a named element, else an empty string."""
        name = self.literals.get("name")
        return name if isinstance(name, str) else ""


@dataclass(slots=True, eq=False)
class Reference:
    """A reference to an element by its DTMI, checked once everything is parsed."""

    owner: Element
    rule: PropertyRule
    target: str
    document_path: DocumentPath


@dataclass(slots=True)
class ElementGraph:
    """Every element parsed so far, by DTMI, and every reference between them."""

    elements: dict[str, Element] = field(default_factory=dict)
    references: list[Reference] = field(default_factory=list)

    def children(self, element: Element, name: str) -> Iterator[Element]:
        """Yield those values of a property that are elements of this graph."""
        for value in element.values.get(name, ()):
            if isinstance(value, str) and (child := self.elements.get(value)) is not None:
                yield child
