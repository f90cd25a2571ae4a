"""Parses the TCK's notation of values in tables. It does not compare them.

SPEC: openCypher TCK, README, «Format of the expected results»: a node is `(:Label {key: value})`, a
relationship `[:TYPE {key: value}]`, a path `<(...)-[...]->(...)>`; the rest are Cypher's literals.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from tests.tck.scenarios import NotUnderstood

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExpectedNode:
    """A node by its labels and properties: the TCK knows no identity."""

    labels: frozenset[str]
    properties: dict[str, Expected]


@dataclass(frozen=True, slots=True)
class ExpectedRelationship:
    """A relationship by its type and properties."""

    type: str
    properties: dict[str, Expected]


@dataclass(frozen=True, slots=True)
class ExpectedPath:
    """A path: its first node, then a step each: relationship, whether crossed forward, node."""

    start: ExpectedNode
    steps: tuple[tuple[ExpectedRelationship, bool, ExpectedNode], ...]


Expected: TypeAlias = (
    "bool | int | float | str | list[Expected] | dict[str, Expected] | "
    "ExpectedNode | ExpectedRelationship | ExpectedPath | None"
)

_WORDS: dict[str, Expected] = {
    "null": None,
    "true": True,
    "false": False,
    "NaN": float("nan"),
    "Inf": float("inf"),
    "-Inf": float("-inf"),
}
_WORD = re.compile(r"null|true|false|NaN|-?Inf\b")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
_INTEGER = re.compile(r"[+-]?\d+")
_STRING = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_NAME = re.compile(r"`((?:[^`]|``)*)`|([^\s:{}()\[\],|`'<>-]+)")
_BLANK = re.compile(r"\s*")


def parse_value(text: str) -> Expected:
    """The value that a cell writes; `NotUnderstood` names the place of what is not understood."""
    reader = _Reader(text)
    value = reader.parse()
    if reader.at != len(text):
        raise reader.refuse("the end")
    return value


class _Reader:
    """A place in the text of one cell."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.skip_blank()

    def parse(self) -> Expected:
        if self.text.startswith("[:", self.at):
            return self.parse_relationship()
        openings: dict[str, Callable[[], Expected]] = {
            "(": self.parse_node,
            "<": self.parse_path,
            "{": self.parse_map,
            "[": lambda: self.parse_items("[", self.parse, "]"),
            "'": self.parse_string,
        }
        parse = openings.get(self.text[self.at : self.at + 1])
        return self.parse_scalar() if parse is None else parse()

    def parse_scalar(self) -> Expected:
        if word := self.accept_pattern(_WORD):
            return _WORDS[word[0]]
        if number := self.accept_pattern(_FLOAT):
            return float(number[0])
        if number := self.accept_pattern(_INTEGER):
            return int(number[0])
        raise self.refuse("a value")

    def parse_string(self) -> str:
        found = self.accept_pattern(_STRING)
        if found is None:
            raise self.refuse("a closed string")
        # SPEC: only the quote and the backslash itself are escaped; the table unescapes the rest.
        return re.sub(r"\\(['\\])", r"\1", found[1])

    def parse_map(self) -> dict[str, Expected]:
        return dict(self.parse_items("{", self.parse_entry, "}"))

    def parse_entry(self) -> tuple[str, Expected]:
        key = self.parse_name()
        self.expect(":")
        return key, self.parse()

    def parse_node(self) -> ExpectedNode:
        self.expect("(")
        labels = set()
        while self.accept(":"):
            labels.add(self.parse_name())
        properties = self.parse_properties()
        self.expect(")")
        return ExpectedNode(frozenset(labels), properties)

    def parse_relationship(self) -> ExpectedRelationship:
        self.expect("[")
        self.expect(":")
        name = self.parse_name()
        properties = self.parse_properties()
        self.expect("]")
        return ExpectedRelationship(name, properties)

    def parse_properties(self) -> dict[str, Expected]:
        return self.parse_map() if self.text.startswith("{", self.at) else {}

    def parse_path(self) -> ExpectedPath:
        self.expect("<")
        start = self.parse_node()
        steps = []
        while not self.accept(">"):
            backward = self.accept("<")
            self.expect("-")
            crossed = self.parse_relationship()
            self.expect("-")
            if not backward:
                self.expect(">")
            steps.append((crossed, not backward, self.parse_node()))
        return ExpectedPath(start, tuple(steps))

    def parse_name(self) -> str:
        found = self.accept_pattern(_NAME)
        if found is None:
            raise self.refuse("a name")
        return found[2] if found[1] is None else found[1].replace("``", "`")

    def parse_items(self, opening: str, parse: Callable[[], T], closing: str) -> list[T]:
        self.expect(opening)
        items: list[T] = []
        while not self.accept(closing):
            if items:
                self.expect(",")
            items.append(parse())
        return items

    # --- the text ---------------------------------------------------------------------------

    def accept_pattern(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            self.skip_blank()
        return found

    def accept(self, symbol: str) -> bool:
        if not self.text.startswith(symbol, self.at):
            return False
        self.at += len(symbol)
        self.skip_blank()
        return True

    def expect(self, symbol: str) -> None:
        if not self.accept(symbol):
            raise self.refuse(f"'{symbol}'")

    def skip_blank(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found is not None else self.at

    def refuse(self, expected: str) -> NotUnderstood:
        return NotUnderstood(f"{self.text!r}: expected {expected} at character {self.at}")
