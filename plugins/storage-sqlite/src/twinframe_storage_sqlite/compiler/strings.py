"""Compiles string predicates, comparing bytes, so that letter case and NUL characters count."""

from __future__ import annotations

from typing import Final

from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.bindings import (
    Bindings,
    SqliteValue,
    build_prefix_end,
    build_scalar,
)
from twinframe_storage_sqlite.compiler.comparison import render_all, render_whole
from twinframe_storage_sqlite.compiler.elements import build_let
from twinframe_storage_sqlite.compiler.guards import render_retreat
from twinframe_storage_sqlite.compiler.term import Term, render_check, render_forced

_LONGEST_SEARCHED: Final = 1024


def compile_string_test(
    left: Term, operator: str, right: Term, bindings: Bindings, *, wanted: bool
) -> str:
    """`STARTS WITH`, `ENDS WITH` and `CONTAINS`; null unless both sides are strings."""
    if not (left.kinds & k.STRING and right.kinds & k.STRING):
        return render_forced("0", left, right)
    checks = [
        each for each in (render_check(left, k.STRING), render_check(right, k.STRING)) if each
    ]
    if operator == "CONTAINS":
        # NOTE: `instr` searches the whole string, NUL characters included.
        test = _render_place(left, right, f"{'>' if wanted else '='} 0", bindings)
    elif operator == "ENDS WITH":
        test = _render_suffix(left.value, right.value, wanted=wanted)
    elif right.source is not None and not right.kinds & ~k.STRING:
        # PERF: a range, so that an index on the left side is used.
        end = bindings.bind(right.source, build_prefix_end)
        lower, upper = (">=", "<") if wanted else ("<", ">=")
        word = "AND" if wanted else "OR"
        test = f"({left.value} {lower} {right.value} {word} {left.value} {upper} {end})"
    else:
        test = _render_place(left, right, f"{'=' if wanted else '<>'} 1", bindings)
    return render_whole(render_all(test, *checks), left, right)


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


def _build_searched(value: Value) -> SqliteValue:
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
