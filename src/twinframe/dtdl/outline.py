"""The outline of a model document: what it declares, read without the parser.

It is for documents that are known to be valid: 767 interfaces take some milliseconds so, and some
seconds with the parser. What the language does not allow is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

Element: TypeAlias = dict[str, Any]
"""A JSON object of a document."""

_KINDS: Final = ("Property", "Relationship", "Telemetry", "Component", "Command")


class ContentOutline(NamedTuple):
    """A content of an interface, or a property of a relationship; `kind` is its DTDL class."""

    kind: str
    name: str
    element: Element

    @property
    def schema(self) -> object:
        """The schema of its values, the interface of a component; None where there is none."""
        return self.element.get("schema")

    @property
    def properties(self) -> Iterator[ContentOutline]:
        """Yield the properties of a relationship."""
        return _read_contents(self.element.get("properties"))


@dataclass(frozen=True, slots=True)
class ModelOutline:
    """An interface: a document, or an object that stands for one within a document."""

    document: Element

    @property
    def bases(self) -> Iterator[str]:
        """Yield the ids of the interfaces that it extends."""
        return (each for each in read_list(self.document.get("extends")) if isinstance(each, str))

    @property
    def contents(self) -> Iterator[ContentOutline]:
        """Yield its own contents."""
        return _read_contents(self.document.get("contents"))

    @property
    def inner(self) -> Iterator[ModelOutline]:
        """Yield the interfaces that stand within it: bases, and those of components."""
        found = read_elements(self.document.get("extends"))
        for element in read_elements(self.document.get("contents")):
            if isinstance(element.get("schema"), dict) and _read_kind(element) == "Component":
                found.append(element["schema"])
        return map(ModelOutline, found)

    @property
    def schemas(self) -> dict[str, Element]:
        """The schemas that it declares, by id."""
        found = read_elements(self.document.get("schemas"))
        return {each["@id"]: each for each in found if isinstance(each.get("@id"), str)}


def read_list(value: object) -> list[Any]:
    """Return the values of a member, which may be left out, one value, or a list."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def read_elements(value: object) -> list[Element]:
    """Return those values of a member that are objects."""
    return [each for each in read_list(value) if isinstance(each, dict)]


def _read_contents(value: object) -> Iterator[ContentOutline]:
    for element in read_elements(value):
        name = element.get("name")
        if isinstance(name, str):
            yield ContentOutline(_read_kind(element), name, element)


def _read_kind(element: Element) -> str:
    classes = element.get("@type")
    if isinstance(classes, str):
        return classes
    return next((each for each in _KINDS if each in read_list(classes)), "")
