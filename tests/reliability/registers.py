"""Statements in Cypher that change registers, and what their answers say of the registers' states.

Counters, swaps, conditional moves and MERGE of nodes and relationships, for `serial_orders`. A
register is a twin, or a node or relationship that MERGE makes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.reliability.serial_orders import KEPT, State, States, build_tags

Rows = Sequence[Sequence[Any]]

_NUMBERS: Final = [
    {"@type": "Property", "name": "version", "schema": "long"},
    {"@type": "Property", "name": "last", "schema": "string"},
    {"@type": "Property", "name": "former", "schema": "string"},
]
MODELS: Final = (
    {
        "@context": "dtmi:dtdl:context;3",
        "@id": "dtmi:com:example:Register;1",
        "@type": "Interface",
        "contents": [
            *_NUMBERS,
            {"@type": "Property", "name": "content", "schema": "long"},
            {"@type": "Relationship", "name": "marks", "properties": _NUMBERS},
        ],
    },
    {
        "@context": "dtmi:dtdl:context;3",
        "@id": "dtmi:com:example:Marker;1",
        "@type": "Interface",
        "contents": [*_NUMBERS, {"@type": "Property", "name": "name", "schema": "string"}],
    },
)
KEYS: Final = tuple(f"k{number}" for number in range(6))
PREPARE: Final = (
    "UNWIND $keys AS key "
    "CREATE (:Register {`$dtId`: key, version: 0, last: 'start ', content: 100})"
)


def _write_tag(variable: str) -> str:
    kept = f"substring({variable}.last, 0, {KEPT})"
    return f"{variable}.version = {variable}.version + 1, {variable}.last = $tag + ' ' + {kept}"


def _merge_tag(variable: str) -> str:
    former = f"{variable}.former = {variable}.last"
    return (
        f"ON CREATE SET {variable}.version = 0, {variable}.last = $tag + ' ' "
        f"ON MATCH SET {former}, {_write_tag(variable)} "
    )


_SETS_A: Final = _write_tag("a")
_SETS_B: Final = _write_tag("b")
_A: Final = "[a.version, a.last, a.content]"
_B: Final = "[b.version, b.last, b.content]"
_BOTH: Final = (
    "MATCH (a:Register {`$dtId`: $a}), (b:Register {`$dtId`: $b}) "
    f"WITH a, b, {_A} AS x, {_B} AS y "
)
COUNT: Final = (
    f"MATCH (a:Register {{`$dtId`: $a}}) WITH a, {_A} AS x "
    f"SET a.content = a.content + 1, {_SETS_A} RETURN x, {_A}"
)
SWAP: Final = (
    f"{_BOTH}SET a.content = y[2], b.content = x[2], {_SETS_A}, {_SETS_B} RETURN x, {_A}, y, {_B}"
)
MOVE: Final = (
    f"{_BOTH}WITH a, b, x, y, CASE WHEN x[2] >= $n THEN $n ELSE 0 END AS moved "
    f"SET a.content = a.content - moved, b.content = b.content + moved, {_SETS_A}, {_SETS_B} "
    f"RETURN x, {_A}, y, {_B}"
)
TAKE: Final = (
    f"{_BOTH}CALL {{ WITH a, x, y UNWIND CASE WHEN x[2] + y[2] >= $n THEN [1] ELSE [] END AS one "
    f"SET a.content = a.content - $n, {_SETS_A} }} RETURN x, {_A}, y"
)
MARK: Final = (
    f"MATCH (a:Register {{`$dtId`: $a}}) MERGE (n:Marker {{name: $b}}) {_merge_tag('n')}"
    f"MERGE (a)-[r:marks]->(n) {_merge_tag('r')}"
    "RETURN [n.version, n.former, n.`$dtId`], [r.version, r.former, r.`$relationshipId`]"
)
READ: Final = f"MATCH (a:Register) RETURN a.`$dtId`, {_A}"
READ_MARKERS: Final = (
    "MATCH (a:Register)-[r:marks]->(n:Marker) RETURN a.`$dtId`, n.name, "
    "[n.version, n.last, n.`$dtId`], [r.version, r.last, r.`$relationshipId`]"
)
_STATEMENTS: Final = (COUNT, SWAP, MOVE, TAKE, MARK, READ)


class WrongAnswer(Exception):
    """An answer that no state gives; the text says how."""


@dataclass(frozen=True, slots=True)
class Request:
    """A statement of one operation. `writes` are the keys that it writes if it is done.

    `tag` is its own; `take` makes of its rows the states before and after it.
    """

    text: str
    tag: str
    a: str = ""
    b: str = ""
    n: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """The values for the text."""
        return {"tag": self.tag, "a": self.a, "b": self.b, "n": self.n}

    @property
    def writes(self) -> tuple[str, ...]:
        """The keys that it writes if it is done."""
        if self.text in (SWAP, MOVE):
            return self.a, self.b
        if self.text == MARK:
            return self.b, f"{self.a}>{self.b}"
        return (self.a,) if self.text in (COUNT, TAKE) else ()

    def take(self, rows: Rows) -> tuple[States, States]:
        """Return the states that it saw, and those that it wrote. Raises `WrongAnswer`."""
        if self.text in (READ, READ_MARKERS):
            return take_read(rows), {}
        if len(rows) != 1:
            raise WrongAnswer(f"{self.tag}: {len(rows)} rows for one")
        (row,) = rows
        if self.text == MARK:
            return self._take_mark(row)
        saw = {self.a: State(*row[0])}
        if len(row) > 2:
            saw[self.b] = State(*row[2])
        wrote = self.find_written(saw)
        told = {self.a: State(*row[1])}
        if len(row) > 3:
            told[self.b] = State(*row[3])
        if told != {self.a: saw[self.a], **wrote}:
            raise WrongAnswer(f"{self.tag}: {told} after {saw}, not {wrote}")
        return saw, wrote

    def find_written(self, saw: dict[str, State]) -> dict[str, State]:
        """What the statement writes where it sees this."""

        def write(key: str, content: Any) -> State:
            return State(saw[key].version + 1, build_tags(self.tag, saw[key].last), content)

        a: Any = saw[self.a].content
        if self.text == COUNT:
            return {self.a: write(self.a, a + 1)}
        b: Any = saw[self.b].content
        if self.text == SWAP:
            return {self.a: write(self.a, b), self.b: write(self.b, a)}
        if self.text == MOVE:
            moved = self.n if a >= self.n else 0
            return {self.a: write(self.a, a - moved), self.b: write(self.b, b + moved)}
        return {self.a: write(self.a, a - self.n)} if a + b >= self.n else {}

    def _take_mark(self, row: Sequence[Any]) -> tuple[States, States]:
        saw: dict[str, State | None] = {}
        wrote: dict[str, State | None] = {}
        for key, (version, former, made) in zip(self.writes, row, strict=True):
            saw[key] = State(version - 1, former, made) if version else None
            tags = build_tags(self.tag, former) if version else f"{self.tag} "
            wrote[key] = State(version, tags, made)
        return saw, wrote


def take_read(rows: Rows) -> dict[str, State]:
    """Return the states of the rows of `READ` or `READ_MARKERS`."""
    found: dict[str, State] = {}
    for row in rows:
        if len(row) == 2:
            found[row[0]] = State(*row[1])
            continue
        a, name, node, relationship = row
        pairs = ((name, State(*node)), (f"{a}>{name}", State(*relationship)))
        for key, state in pairs:
            if found.setdefault(key, state) != state:
                raise WrongAnswer(f"two are named {key}")
    return found


@dataclass(slots=True)
class Requests:
    """Makes the requests of one client; `find_marker` is the number of the marker of the moment."""

    name: str
    dice: random.Random
    find_marker: Callable[[], int]
    made: int = field(default=0)

    def make(self) -> Request:
        """Return the next one."""
        self.made += 1
        dice = self.dice
        text = dice.choice(_STATEMENTS)
        a, b = dice.sample(KEYS, 2)
        if text == MARK:
            a, b = dice.choice(KEYS[:2]), f"m{self.find_marker()}"
        return Request(text, f"{self.name}-{self.made}", a, b, dice.choice((1, 5, 60)))
