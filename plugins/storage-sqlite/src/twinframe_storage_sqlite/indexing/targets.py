"""What an index can be on: a property in the documents of a table, or a column of relationships.

The expression is the text that the compiler renders, or SQLite would not use the index.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import apsw

from twinframe_storage_sqlite.json_paths import render_path

_NAME: Final = r"[A-Za-z][A-Za-z0-9_]{0,511}"
_MEMBER: Final = re.compile(rf"\b([nr])\d+\.document ->> '\$\.({_NAME})'\)", re.ASCII)
_COLUMNS: Final = {"$relationshipId": "relationship_id", "$relationshipName": "name"}
_COLUMN: Final = re.compile(r"\br\d+\.(relationship_id|name)\b")
_TABLES: Final = {"n": "twin", "r": "relationship"}
_LOOKUP: Final = re.compile(
    r"(?:\b[nr]\d+\.document ->> '\$\.\w+'\)|\br\d+\.relationship_id)"
    r" (?:= :|IN \(SELECT e\.value )",
    re.ASCII,
)
_INDEX: Final = re.compile(rf"auto_(twin|relationship)_(\$?{_NAME})_[0-9a-f]+", re.ASCII)
_LIST: Final = "SELECT name FROM sqlite_schema WHERE type = 'index' AND name GLOB 'auto_*'"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A property `name` of the entities in `table`; `$relationshipId` and `$relationshipName` are
    columns.
    """

    table: str
    name: str

    @property
    def key(self) -> str:
        """The key of its entry."""
        return f"{self.table}/{self.name}"

    @property
    def index(self) -> str:
        """The name of its automatic index.

        NOTE: names in SQL ignore letter case, those of properties do not: it ends with digits that
        encode the capitals.
        """
        capitals = sum(1 << i for i, letter in enumerate(self.name) if letter.isupper())
        return f"auto_{self.table}_{self.name}_{capitals:x}"

    @property
    def expression(self) -> str:
        """What is indexed, as SQL without an alias."""
        return _COLUMNS.get(self.name) or f"document ->> {render_path((self.name,))}"

    def render_index(self) -> str:
        """Render the statement that makes the automatic index.

        An entity without the property is not in it, and pays nothing for it.
        """
        where = "" if self.name in _COLUMNS else f" WHERE ({self.expression}) IS NOT NULL"
        return f'CREATE INDEX "{self.index}" ON {self.table} ({self.expression}){where}'


def find_targets(text: str) -> frozenset[Target]:
    """Return the targets that a compiled statement reads."""
    members = {Target(_TABLES[letter], name) for letter, name in _MEMBER.findall(text)}
    columns = set(_COLUMN.findall(text))
    return frozenset(
        members
        | {Target("relationship", name) for name, column in _COLUMNS.items() if column in columns}
    )


def is_lookup(text: str) -> bool:
    """Return whether a compiled statement compares a target with a value, or a list of values."""
    return _LOOKUP.search(text) is not None


def parse_index(name: str) -> Target | None:
    """Parse the name of an automatic index; None for that of another."""
    match = _INDEX.fullmatch(name)
    return Target(match[1], match[2]) if match else None


def list_automatic(connection: apsw.Connection) -> list[Target]:
    """List the targets that have an automatic index."""
    names = connection.execute(_LIST).fetchall()
    return sorted(target for (name,) in names if (target := parse_index(str(name))) is not None)
