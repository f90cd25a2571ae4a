"""Compiles string predicates, comparing bytes, so that letter case and NUL characters count."""

from __future__ import annotations

from typing import Final

from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    Bindings,
    SqlValue,
    Term,
    build_scalar,
)
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.guards import render_retreat
from twinframe_storage_sqlite.compiler.lets import build_let

_LONGEST_SEARCHED: Final = 1024


def render_string_test(
    left: Term, operator: str, right: Term, bindings: Bindings, *, wanted: bool
) -> str:
    """`STARTS WITH`, `ENDS WITH` and `CONTAINS` of two strings."""
    if operator == "CONTAINS":
        # NOTE: `instr` searches the whole string, NUL characters included.
        return _render_place(left, right, f"{'>' if wanted else '='} 0", bindings)
    if operator == "ENDS WITH":
        return _render_suffix(left.value, right.value, wanted=wanted)
    if right.source is not None and not right.kinds & ~k.STRING:
        # PERF: a range, so that an index on the left side is used.
        end = bindings.bind(right.source, build_prefix_end)
        lower, upper = (">=", "<") if wanted else ("<", ">=")
        word = "AND" if wanted else "OR"
        return f"({left.value} {lower} {right.value} {word} {left.value} {upper} {end})"
    return _render_place(left, right, f"{'=' if wanted else '<>'} 1", bindings)


def _render_place(left: Term, right: Term, test: str, bindings: Bindings) -> str:
    """Render a test of the position of one string in another; the evaluator searches long ones."""
    if right.source is not None and not right.kinds & ~k.STRING:
        return f"instr({left.value}, {bindings.bind(right.source, _build_searched)}) {test}"
    let = build_let(right.value)
    (part,) = let.names
    return let.wrap(
        f"CASE WHEN {render_long(part)} THEN {render_retreat('a search for a long string')} "
        f"ELSE instr({left.value}, {part}) {test} END"
    )


def _build_searched(value: Value) -> SqlValue:
    if isinstance(value, str) and len(value.encode(errors="surrogatepass")) > _LONGEST_SEARCHED:
        raise CannotRun("A search for a long string.")
    return build_scalar(value)


def render_long(part: str) -> str:
    """Render whether a string is so long that SQLite must not search for it.

    SEC: SQLite compares all of it at each position: half of a text of 1 MB in that text takes 10 s,
    during which no deadline is checked.
    """
    return f"octet_length({part}) > {_LONGEST_SEARCHED}"


def _render_suffix(value: str, suffix: str, *, wanted: bool) -> str:
    # NOTE: `substr` of a text ends at a NUL character, of a blob it does not; of an empty blob it
    # is NULL.
    end = f"substr(CAST({value} AS BLOB), -octet_length({suffix}))"
    lengths = f"octet_length({value}) {'>=' if wanted else '<'} octet_length({suffix})"
    if wanted:
        return f"({lengths} AND ({suffix} = '' OR {end} = CAST({suffix} AS BLOB)))"
    return f"({lengths} OR ({suffix} <> '' AND {end} <> CAST({suffix} AS BLOB)))"


def build_prefix_end(value: Value) -> SqlValue:
    """Return the least value above every string that starts with the string `value`.

    Strings are ordered by code point; when the last code point has no successor the one before it
    decides. A blob is above every text.
    """
    text = value if isinstance(value, str) else ""
    while text:
        last = ord(text[-1])
        if last < 0x10FFFF:
            return text[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
        text = text[:-1]
    return b""
