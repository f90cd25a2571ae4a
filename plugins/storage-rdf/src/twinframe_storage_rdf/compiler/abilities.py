"""The parts of SPARQL that an engine is proven to answer exactly, and the parts that a query needs.

`probes` finds out what an engine can. The compiler writes every operator and keyword so that
`find_used` sees it, so a query that uses an unproven one is refused even if that was an oversight.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k

NARROW: Final = "~"
"""Behind an operator: the compiler knows that all its operands are IRIs, or all are strings.

Engines that mix up types still answer these right. The mark is not part of the text that is sent.
"""

_TOKEN: Final = re.compile(
    r"""
    "(?:[^"\\]|\\.)*"                             # a string of the compiler's own
  | <(?P<call>[^<>\s]*)>\(                        # a cast
  | <[^<>\s]*>(?P<after>[*+]?)                    # an IRI, or a path of it
  | \?\w+ | \$v\d+_ | [\d.]+(?:e\d+)?             # a variable, a value, a number
  | \)(?P<path>[*+])                              # a path of several
  | \(\*
  | (?P<word>[A-Za-z]+~? | (?:\|\||&&|!=|<=|>=|[=<>!/|^*+-])~?)
    """,
    re.VERBOSE,
)
_MARKED: Final = re.compile(r"(?<=[A-Za-z=<>])~(?=[ (])")
KEYS: Final = "an order of ids"
"""Pages by key: the engine orders and compares strings by code point."""

JOINS: Final = "a join of values"
"""The engine joins a VALUES of scalars by term: an integer is no double and a number no string."""

PATHS: Final = "path *"
"""The engine follows paths of no step or more, also between two known ends."""

_VALUES: Final = {k.BOOLEAN: "a boolean", k.INTEGER: "an integer", k.FLOAT: "a double"}
"""Values that an engine must return as they were stored or computed when they are a result."""


def find_used(text: str) -> frozenset[str]:
    """The operators and keywords of a text that the compiler made."""
    used = set()
    for found in _TOKEN.finditer(text):
        path = found["after"] or found["path"]
        if path:
            used.add(f"path {path}")
        elif found["call"]:
            used.add(f"cast to {found['call'].rpartition('#')[2]}")
        elif found["word"]:
            used.add(found["word"])
    return frozenset(used)


def render_plain(text: str) -> str:
    """Return the text without marks, as plain SPARQL."""
    return _MARKED.sub("", text)


@dataclass(frozen=True, slots=True)
class Abilities:
    """The operators that an engine evaluates exactly; `proven` None means all."""

    proven: frozenset[str] | None = None

    def has(self, ability: str) -> bool:
        """Whether it is proven."""
        return self.proven is None or ability in self.proven

    def check_text(self, text: str) -> None:
        """Raise `CannotRun` when the text uses an operator that is not proven."""
        if self.proven is None:
            return
        missing = find_used(text) - self.proven
        if missing:
            raise CannotRun(f"This server is not exact about {', '.join(sorted(missing))}.")

    def check_column(self, kinds: int, *, is_computed: bool) -> None:
        """Raise `CannotRun` for a result of a type that the engine does not return unchanged.

        `is_computed`: an integer is a count, so it is not one that was stored or sent.
        """
        if is_computed and kinds & ~k.NULL == k.INTEGER and self.has("a count"):
            return
        for kind, name in _VALUES.items():
            if kinds & kind and not self.has(name):
                raise CannotRun(f"This server does not give back {name} as it is.")


EVERYTHING: Final = Abilities()
NOTHING: Final = Abilities(frozenset())
