"""What an engine is known to do to the letter of SPARQL, and which of that a text needs.

It asks no engine; `probes` does. The compiler writes every operator and keyword so that `find_used`
sees it: what nobody proved is refused, also where it stands by an oversight.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from twinframe.storage.base import CannotRun
from twinframe_storage_rdf.compiler import kinds as k

NARROW: Final = "~"
"""Behind an operator: all its operands are IRIs, or all are strings, as the compiler knows.

Engines that mix up types are right there still. The mark does not get into the text that is sent.
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
"""Pages by key: strings are ordered, and compared, by code point."""

JOINS: Final = "a join of values"
"""A VALUES of scalars is joined by term: an integer is no double and a number no string."""

_VALUES: Final = {k.BOOLEAN: "a boolean", k.INTEGER: "an integer", k.FLOAT: "a double"}
"""What an engine must give back as it was stored, or computed, where it is a result."""


def find_used(text: str) -> frozenset[str]:
    """The operators and keywords of a text of the compiler, before values are put in."""
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
    """The text without marks, as SPARQL has it."""
    return _MARKED.sub("", text)


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an engine does to the letter; `proven` None: everything."""

    proven: frozenset[str] | None = None

    def has(self, ability: str) -> bool:
        """Whether it is proven."""
        return self.proven is None or ability in self.proven

    def check_text(self, text: str) -> None:
        """`CannotRun` when the text uses what is not proven."""
        if self.proven is None:
            return
        missing = find_used(text) - self.proven
        if missing:
            raise CannotRun(f"This server is not exact about {', '.join(sorted(missing))}.")

    def check_column(self, kinds: int, *, is_computed: bool) -> None:
        """`CannotRun` when a result may be of a type that the engine does not give back as it is.

        `is_computed`: an integer is none that is stored or sent: it counts something.
        """
        if is_computed and kinds & ~k.NULL == k.INTEGER and self.has("a count"):
            return
        for kind, name in _VALUES.items():
            if kinds & kind and not self.has(name):
                raise CannotRun(f"This server does not give back {name} as it is.")


EVERYTHING: Final = Abilities()
NOTHING: Final = Abilities(frozenset())
