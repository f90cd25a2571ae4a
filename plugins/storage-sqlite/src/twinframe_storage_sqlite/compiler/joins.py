"""Reads the joins of one SELECT as a graph: tables, the conditions on them, and how each is found.

`orders` chooses the order of its tables, `factors` counts its rows without building them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

_SOURCE: Final = re.compile(
    r"(?:(?:CROSS )?JOIN )?(?P<table>twin|relationship) AS (?P<alias>[nr]\d+)(?: ON (?P<on>.+))?",
    re.DOTALL,
)
COLUMN: Final = re.compile(r"\b([a-z]\d+)\.(\w+)")
_ONE: Final = r"[a-z]\d+\.\w+"
_EQUAL: Final = re.compile(rf"({_ONE}) = ({_ONE})")
_REACHED: Final = re.compile(r"(n\d+)\.id = (.+)", re.DOTALL)
_EITHER: Final = re.compile(rf"\((r\d+)\.source = ({_ONE}) OR \1\.target = \2\)")
_PAIR: Final = re.compile(
    rf"\((r\d+)\.source = ({_ONE}) AND \1\.target = ({_ONE})"
    rf" OR \1\.target = \2 AND \1\.source = \3\)"
)
_NAME: Final = re.compile(r"(r\d+)\.name (?:= :\w+|IN \([:\w,]+\))")
_NAMED: Final = re.compile(r"\bAS ([a-z]\d+)\b")
_SHARED: Final = re.compile(r"(?:^|\bFROM |\bJOIN )([a-z]\d+)\b(?!\.)", re.MULTILINE)
_MOST_TABLES: Final = 32
"""Joins of more tables are left to the engine. PERF: it takes some ms to choose their order."""

ROW_IDS: Final = frozenset(("id", "source", "target"))

Column: TypeAlias = tuple[str, str]
"""The alias of a table, and the name of its column."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition, the columns that it reads of the graph's tables, and the aliases of these.

    `shown` is how it is written; None where another condition implies it.
    """

    text: str
    columns: frozenset[Column]
    aliases: frozenset[str]
    shown: str | None


@dataclass(frozen=True, slots=True)
class Access:
    """A way to find the rows of a table by an index, once the tables `needs` are read.

    `ends` are the columns that are given then; `either` says that it is one of both ends.
    """

    needs: frozenset[str]
    ends: tuple[str, ...]
    either: bool = False


class JoinGraph:
    """The tables of a SELECT that can be read in any order, and what connects them.

    `before` and `after` are the sources that keep their positions around them.
    """

    def __init__(self, sources: Sequence[str], conditions: Sequence[str]) -> None:
        self.tables: dict[str, str] = {}
        first, last = _find_movable(sources)
        self.before, self.after = tuple(sources[:first]), tuple(sources[last:])
        texts = list(conditions)
        for source in sources[first:last]:
            match = _SOURCE.fullmatch(source)
            assert match is not None  # noqa: S101  # by `_find_movable`
            self.tables[match["alias"]] = match["table"]
            if match["on"]:
                texts.append(match["on"])
        names = _list_names(texts)
        self.conditions = tuple(self._read_condition(text, names) for text in texts)
        self.accesses: dict[str, list[Access]] = {alias: [] for alias in self.tables}
        self.nodes: dict[str, str] = {}
        self.equal: list[tuple[Column, Column]] = []
        for each in self.conditions:
            self._add_accesses(each)

    def _read_condition(self, text: str, names: Mapping[str, str]) -> Condition:
        shown: str | None = text
        if match := _EITHER.fullmatch(text) or _PAIR.fullmatch(text):
            # PERF: with its name in each of both, SQLite finds a relationship by the indexes on
            # either end. With a name beside, it may build an index of all that have it.
            name = names.get(match[1])
            ends = text[1:-1].split(" OR ")
            shown = text if name is None else f"({' OR '.join(f'{e} AND {name}' for e in ends)})"
        elif (match := _NAME.fullmatch(text)) and match[1] in names:
            shown = None
        read = COLUMN.findall(shown or text)
        columns = frozenset(each for each in read if each[0] in self.tables)
        return Condition(text, columns, frozenset(alias for alias, _ in columns), shown)

    @property
    def is_closed(self) -> bool:
        """Whether it reads nothing that comes after its tables or from the SELECT around it."""
        text = "\n".join([*self.before, *(each.text for each in self.conditions)])
        read = {alias for alias, _ in COLUMN.findall(text)} | set(_SHARED.findall(text))
        return read <= self.tables.keys() | set(_NAMED.findall(text))

    @property
    def shown(self) -> list[str]:
        """The conditions as they are written."""
        return [each.shown for each in self.conditions if each.shown is not None]

    def _add_accesses(self, condition: Condition) -> None:
        text = condition.text
        if match := _EQUAL.fullmatch(text):
            for one, other in ((match[1], match[2]), (match[2], match[1])):
                self._add_access(one, other)
            sides = COLUMN.findall(text)
            if len(condition.aliases) == 2 and all(name in ROW_IDS for _, name in sides):
                self.equal.append((sides[0], sides[1]))
        elif match := _REACHED.fullmatch(text):
            if match[1] in self.tables and f"{match[1]}." not in match[2]:
                needs = condition.aliases - {match[1]}
                self.accesses[match[1]].append(Access(needs, ("id",)))
        elif (match := _EITHER.fullmatch(text)) and match[1] in self.tables:
            self._add_either(match[1], "source", match[2])
        elif (match := _PAIR.fullmatch(text)) and match[1] in self.tables:
            self._add_either(match[1], "source", match[2])
            self._add_either(match[1], "target", match[3])
            needs = self._find_needs(match[2]) | self._find_needs(match[3])
            self.accesses[match[1]].append(Access(needs, ("source", "target"), either=True))

    def _add_access(self, column: str, given: str) -> None:
        alias, _, name = column.partition(".")
        if alias not in self.tables or name not in ROW_IDS or given.startswith(f"{alias}."):
            return
        self.accesses[alias].append(Access(self._find_needs(given), (name,)))
        if given.endswith(".id") and given.startswith("n"):
            self.nodes[column] = given.partition(".")[0]

    def _add_either(self, alias: str, end: str, given: str) -> None:
        """Note a node that is at one end or the other, as that of `end`."""
        self.accesses[alias].append(Access(self._find_needs(given), (end,), either=True))
        if given.endswith(".id") and given.startswith("n"):
            self.nodes.setdefault(f"{alias}.{end}", given.partition(".")[0])

    def _find_needs(self, column: str) -> frozenset[str]:
        alias = column.partition(".")[0]
        return frozenset((alias,)) if alias in self.tables else frozenset()

    def list_own(self, alias: str) -> list[str]:
        """The conditions on nothing but this table."""
        return [each.text for each in self.conditions if each.aliases == {alias}]

    def render(self, order: Iterable[str] | None) -> list[str]:
        """Render the sources with the tables in this order; None leaves it to the engine."""
        sources = list(self.before)
        ordered = order is not None or bool(self.before)
        for alias in self.tables if order is None else order:
            word = "" if not sources else "CROSS JOIN " if ordered else "JOIN "
            sources.append(f"{word}{self.tables[alias]} AS {alias}")
        return sources + list(self.after)


def _list_names(texts: Sequence[str]) -> dict[str, str]:
    """Return the alias of each relationship of both directions -> the condition on its name."""
    found = (_EITHER.fullmatch(text) or _PAIR.fullmatch(text) for text in texts)
    both = {match[1] for match in found if match is not None}
    named = ((_NAME.fullmatch(text), text) for text in texts)
    # NOTE: an equality that both ends have in common leads SQLite to build an index by the name.
    return {
        match[1]: re.sub(r" = (:\w+)$", r" IN (\1,\1)", text)
        for match, text in named
        if match is not None and match[1] in both
    }


def _find_movable(sources: Sequence[str]) -> tuple[int, int]:
    """Return the longest run of joined tables as the positions of its begin and its end."""
    best, start = (0, 0), 0
    for position in range(len(sources) + 1):
        if position < len(sources) and _SOURCE.fullmatch(sources[position]):
            continue
        if position - start > best[1] - best[0]:
            best = start, position
        start = position + 1
        if position < len(sources) and sources[position].startswith("LEFT JOIN"):
            break  # NOTE: what a left join reads stays before it
    return best


def has_choice(sources: Sequence[str], conditions: Sequence[str]) -> bool:
    """Return whether the order of the joins matters: two relationships, or one of both directions
    between two tables.
    """
    first, last = _find_movable(sources)
    if last - first > _MOST_TABLES:
        return False
    crossed = sum("relationship AS r" in each for each in sources[first:last])
    return crossed > 1 or (crossed == 1 and any(map(_PAIR.fullmatch, conditions)))
