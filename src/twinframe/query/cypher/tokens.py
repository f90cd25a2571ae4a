"""Tokens of the query languages, and the words that are reserved."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from twinframe.query.spans import Span


class TokenKind(enum.Enum):
    """The kind of a token; the value is its name in error messages."""

    NAME = "name"  # includes keywords: only the parser recognizes them
    QUOTED = "quoted name"
    STRING = "string"
    INTEGER = "integer"
    FLOAT = "number"
    BAD_NUMBER = "malformed number"
    PARAMETER = "parameter"
    SYMBOL = "symbol"
    END = "end of the query"


NAMES = (TokenKind.NAME, TokenKind.QUOTED)
"""The kinds of tokens that are names. PERF: a tuple, for an enum hashes in Python."""


@dataclass(slots=True)
class Token:
    """One token. `key` is the upper-case word of a NAME, the text of a SYMBOL, else empty.

    `value` is the text of a name, string or parameter without quoting, or the number.
    """

    kind: TokenKind
    key: str
    value: str | int | float
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The position of the token."""
        return Span(self.start, self.end)

    @property
    def name(self) -> str:
        """The value as text."""
        return str(self.value)


RESERVED = frozenset(
    [
        "AND",
        "AS",
        "CASE",
        "CONTAINS",
        "CREATE",
        "DELETE",
        "DETACH",
        "DISTINCT",
        "ELSE",
        "END",
        "ENDS",
        "FALSE",
        "FOREACH",
        "IN",
        "IS",
        "MATCH",
        "MERGE",
        "NOT",
        "NULL",
        "OPTIONAL",
        "OR",
        "REMOVE",
        "RETURN",
        "SET",
        "STARTS",
        "THEN",
        "TRUE",
        "UNION",
        "UNWIND",
        "WHEN",
        "WHERE",
        "WITH",
        "XOR",
    ]
)
"""Words that a variable may have as its name only in backticks.

NOTE: openCypher 9 reserves more (ORDER, LIMIT, ALL, ...), but none of those is ambiguous where a
variable is allowed, and twins have order numbers and limits.
"""

PREFIXES = ("EXPLAIN", "PROFILE")
"""Words before a query that ask for its plan instead of its rows."""

WRITING_CLAUSES = frozenset(
    ["CREATE", "MERGE", "SET", "DELETE", "DETACH", "REMOVE", "FOREACH", "LOAD", "DROP"]
)
"""First words of clauses that write or read files; `/query` refuses each by name."""

READING_CLAUSES = ("MATCH", "OPTIONAL MATCH", "UNWIND", "WITH", "CALL", "RETURN")
"""The clauses of a reading query, for error messages."""
