"""The parts of SQL that a server is proven to run exactly, and the parts that a statement has.

`probing` finds out what a server can. A part that no probe has is unproven on any server but one
that answers all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from twinframe.query.engine import CannotRun

RECURSION: Final = "RECURSIVE"
"""What a walk of variable length is written with."""

_PART: Final = re.compile(
    r"""
    '(?:[^']|'')*' | "(?:[^"]|"")*"                # a text, a name
  | %\(\w+\)s | \0\w+\0                            # a bound value
  | ::\s*(?P<cast>[a-z][a-z ]*?(?:\[\])?)(?=[^a-z\[ ]|\ (?!precision)|$)
  | (?P<absent>NOT\ \(?EXISTS)\b
  | (?P<subquery>\(SELECT)\b
  | (?P<word>[A-Z][A-Z]+)\b
  | \b[a-z][a-z]?\d*\(                             # a table's alias with its columns
  | (?P<call>\b[a-z_][a-z_0-9]*)\(
  | [\w.]+                                         # a column, a number
  | (?P<operator>[-+*/<>=~!@\#%^&|?]+)
    """,
    re.VERBOSE,
)
_EVERYWHERE: Final = frozenset({"AS", "ON", "AND", "OR", "NOT", "NULL", "TRUE", "FALSE", "IS"})


def find_used(text: str) -> frozenset[str]:
    """The keywords, operators, functions and casts of a statement that the compiler made."""
    used = set()
    for found in _PART.finditer(text):
        if found["cast"]:
            used.add(f"::{found['cast']}")
        elif found["absent"]:
            used |= {"NOT EXISTS", "EXISTS"}
        elif found["subquery"]:
            used |= {"a subquery", "SELECT"}
        elif found["word"]:
            used.add(found["word"])
        elif found["call"]:
            used.add(f"{found['call']}()")
        elif found["operator"]:
            used.add(found["operator"].replace("%%", "%"))
    return frozenset(used - _EVERYWHERE)


@dataclass(frozen=True, slots=True)
class Abilities:
    """The parts of SQL that a server runs exactly, and is quick at; `proven` None means all."""

    proven: frozenset[str] | None = None
    refused: frozenset[str] = frozenset()

    def check_text(self, text: str) -> None:
        """Raise `CannotRun` when a statement has a part that is not proven."""
        if self.proven is None and not self.refused:
            return
        used = find_used(text)
        missing = used & self.refused
        if self.proven is not None:
            missing |= used - self.proven
        if missing:
            raise CannotRun(f"This server is not given {', '.join(sorted(missing))}.")


EVERYTHING: Final = Abilities()
NOTHING: Final = Abilities(frozenset())
