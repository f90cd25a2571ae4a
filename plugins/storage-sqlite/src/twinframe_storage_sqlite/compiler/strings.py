"""Compiles string predicates, comparing bytes, so that letter case and NUL characters count."""

from __future__ import annotations

from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.bindings import Bindings, build_prefix_end
from twinframe_storage_sqlite.compiler.comparison import render_all, render_whole
from twinframe_storage_sqlite.compiler.term import Term, render_check, render_forced


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
        test = f"instr({left.value}, {right.value}) {'>' if wanted else '='} 0"
    elif operator == "ENDS WITH":
        test = _render_suffix(left.value, right.value, wanted=wanted)
    elif right.source is not None and not right.kinds & ~k.STRING:
        # PERF: a range, so that an index on the left side is used.
        end = bindings.bind(right.source, build_prefix_end)
        lower, upper = (">=", "<") if wanted else ("<", ">=")
        word = "AND" if wanted else "OR"
        test = f"({left.value} {lower} {right.value} {word} {left.value} {upper} {end})"
    else:
        test = f"instr({left.value}, {right.value}) {'=' if wanted else '<>'} 1"
    return render_whole(render_all(test, *checks), left, right)


def _render_suffix(value: str, suffix: str, *, wanted: bool) -> str:
    # NOTE: `substr` of a text ends at a NUL character, of a blob it does not; of an empty blob it
    # is NULL.
    end = f"substr(CAST({value} AS BLOB), -octet_length({suffix}))"
    lengths = f"octet_length({value}) {'>=' if wanted else '<'} octet_length({suffix})"
    if wanted:
        return f"({lengths} AND ({suffix} = '' OR {end} = CAST({suffix} AS BLOB)))"
    return f"({lengths} OR ({suffix} <> '' AND {end} <> CAST({suffix} AS BLOB)))"
