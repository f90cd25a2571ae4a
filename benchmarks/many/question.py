"""What a shape of «many twins» is: one question in Cypher, in ladybug's Cypher and in SQL."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchmarks.many.campus import Campus

Bindings: TypeAlias = dict[str, Any]
Draw: TypeAlias = Callable[[random.Random, Campus], Bindings]

MOST_ROWS = 1000
"""Of a result: a page of ours, so that all engines return the same."""

TIMES = frozenset(("since", "until"))
"""Parameters that are times: texts in ours, timestamps in typed engines."""

_MEMBER = re.compile(r"\b(controller|tags)\.")
_SUBTYPE = re.compile(r"\((\w+):(Fan|Meter|Sensor|Valve)\)")
_UNEQUAL_NODES = re.compile(r"\b([a-z]) <> ([a-z])\b(?!\.)")


def draw_nothing(_dice: random.Random, _campus: Campus) -> Bindings:
    """For a question without parameters."""
    return {}


@dataclass(frozen=True, slots=True)
class Question:
    """A shape: its name, its Cypher, the same by hand for DuckDB, and its parameters.

    `ladybug` is needed where its text differs in more than the names of its schema. `is_indexed`
    says that the work does not depend on the size of the graph.
    """

    name: str
    cypher: str
    sql: str
    draw: Draw = draw_nothing
    ladybug: str = ""
    is_indexed: bool = False

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the rows matters."""
        return "ORDER BY" in self.cypher

    @property
    def typed(self) -> str:
        """The text for ladybug: types of devices are a property there, members are columns."""
        if self.ladybug:
            return self.ladybug
        text = _MEMBER.sub(r"\1_", self.cypher.replace("`$dtId`", "id"))
        text = _SUBTYPE.sub(r"(\1:Device {kind: '\2'})", text)
        return _UNEQUAL_NODES.sub(r"id(\1) <> id(\2)", text)
