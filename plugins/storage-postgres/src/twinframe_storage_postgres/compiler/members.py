"""Finds members of documents in SQL, and has each of them read once for each row.

PERF: reading a member costs more than all that is done with it (decision 0076). PostgreSQL computes
an expression anew wherever it is named.
"""

# ruff: noqa: S608  (the text is made of constants and of what the compiler wrote)

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Final

from twinframe.query.sql import Dialect, Joins

_TABLE: Final = re.compile(r"(?:twin|relationship) AS (\w+)")
_MEMBER: Final = re.compile(r"\([nr]\d+\.members(?: -> '(?:[^']|'')*')+\)")
_COLUMN: Final = re.compile(r"\b[a-z]+\d*\.\w")
_TEXT: Final = re.compile(r"'(?:[^']|'')*'")
_COMPARED: Final = re.compile(r"\(*(\([nr]\d+\.members[^)]*\)) [<>=]+ \0\w+\0::given_number ")
"""How a condition begins that compares a number, and then looks at the type of those that fit."""


def find_table(sources: Sequence[str]) -> str | None:
    """Return the alias of the table of twins or relationships if a SELECT reads that alone."""
    table = _TABLE.fullmatch(sources[0]) if len(sources) == 1 else None
    return None if table is None else table[1]


def find_members(sql: str, alias: str = "") -> list[str]:
    """Return the members that SQL reads, once each; with an `alias` those of its row."""
    found = dict.fromkeys(_MEMBER.findall(sql))
    return [each for each in found if each.startswith(f"({alias}")]


def is_of_members(sql: str) -> bool:
    """Return whether SQL reads members, and nothing else of a row."""
    rest = _MEMBER.sub("", sql)
    return rest != sql and not _COLUMN.search(_TEXT.sub("", rest)) and "SELECT" not in rest


def build_source(
    alias: str, columns: Mapping[str, str], source: str, conditions: Sequence[str]
) -> str:
    """Build a derived table in place of `source`, with more columns: members, and their names."""
    more = "".join(f", twinframe_once({each}) AS {name}" for each, name in columns.items())
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"(SELECT {alias}.*{more} FROM {source}{where}) AS {alias}"


def arrange(
    self: Dialect,
    sources: Sequence[str],
    conditions: Sequence[str],
    joins: MutableMapping[str, Joins],
) -> tuple[Sequence[str], Sequence[str]]:
    """Read members that a condition on one table names several times in a derived table.

    Comparisons with a number stay: they look at the type of the rows alone that fit, and an index
    may serve them.
    """
    del self, joins
    alias = find_table(sources)
    if alias is None:
        return sources, conditions
    often: dict[str, None] = {}
    for each in conditions:
        compared = _COMPARED.match(each)
        few = 2 if compared else 1
        often |= dict.fromkeys(
            member for member in find_members(each, f"{alias}.") if each.count(member) > few
        )
    if not often:
        return sources, conditions
    inner = [each for each in conditions if not any(member in each for member in often)]
    outer = [each for each in conditions if each not in inner]
    columns = {member: f"m{at}" for at, member in enumerate(often)}
    for member, name in columns.items():
        outer = [each.replace(member, f"{alias}.{name}") for each in outer]
    return [build_source(alias, columns, sources[0], inner)], outer
