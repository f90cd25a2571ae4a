"""SQL for the order of stored times: those of one instant are equal, whatever their texts.

SPEC: openCypher 9, «Orderability»: a time by its instant, then from west to east. A text in another
form than `2024-01-31T12:00:00.5+01:00`, with or without fraction and offset, becomes a trap.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from twinframe.model.values import Value
from twinframe.query.algebra import FunctionCall
from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    Bindings,
    Source,
    Term,
    build_json,
    compile_member,
    read_declared_times,
    read_table,
)
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.dialect import DIALECT
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.lets import build_let

_SHIFT: Final = 70_000_000_000
"""Seconds that make all instants of the years 0 to 9999 positive."""
_MOST_OFFSET: Final = 18 * 3600


def render_time_order(
    call: FunctionCall, subject: Term, bindings: Bindings, *, descending: bool
) -> list[str]:
    """Render the sort keys for a call of `STORED_TIME`."""
    if subject.kinds & ~k.NULL != k.NODE:
        raise CannotRun("An order of stored times that are no members of nodes.")
    name, places = read_declared_times(call)
    member = compile_member(subject, name, DIALECT)
    ranks, values = [], []
    for kind, models in places.items():
        rank, _ = _KINDS[kind]
        test = f"{member.tag} = 'text' AND {_render_declares(subject, models, bindings)}"
        ranks.append(f"WHEN {test} THEN {rank}")
        values.append(f"WHEN {test} THEN {render_time_key(kind, member.value)}")
    word = " DESC" if descending else ""
    return [
        f"CASE {' '.join(ranks)} ELSE {DIALECT.render_rank(member)} END{word}",
        f"CASE {' '.join(values)} ELSE {member.value} END{word}",
    ]


def render_time_key(kind: str, text: str) -> str:
    """Render a text that sorts as the value of the schema `kind` in `text` does."""
    let = build_let(text)
    _, render = _KINDS[kind]
    return let.wrap(render(let.names[0]))


def _render_declares(subject: Term, models: list[Value], bindings: Bindings) -> str:
    """Render whether the node's model is stored and is, or extends, one of `models`."""
    listed = bindings.bind(Source(None, models), build_json)
    return (
        f"{read_table(subject)}.model IN (SELECT c.descendant FROM interface AS i"
        " CROSS JOIN interface_closure AS c ON c.ancestor = i.id"
        " CROSS JOIN interface AS d ON d.id = c.descendant AND d.position IS NOT NULL"
        f" WHERE i.dtmi IN (SELECT value FROM json_each({listed})))"
    )


def _render_date(text: str) -> str:
    trap = render_trap("a date of another form")
    return f"CASE WHEN strftime('%Y-%m-%d', {text}) = {text} THEN {text} ELSE {trap} END"


def _render_date_time(text: str) -> str:
    return _render_instant(text, "%Y-%m-%dT%H:%M:%S", 19)


def _render_time(text: str) -> str:
    return _render_instant(text, "%H:%M:%S", 8)


def _render_instant(text: str, form: str, width: int) -> str:
    """Render a text that sorts by instant, then by offset."""
    zone = (
        f"CASE WHEN substr({text}, -1) = 'Z' THEN 'Z'"
        f" WHEN substr({text}, -6) GLOB '[+-][01][0-9]:[0-5][0-9]' THEN substr({text}, -6)"
        " ELSE '' END"
    )
    parts = build_let(f"substr({text}, 1, {width})", zone)
    head, zone = parts.names
    offset = (
        f"CASE WHEN length({zone}) < 6 THEN 0 ELSE (substr({zone}, 1, 1) || '1')"
        f" * (substr({zone}, 2, 2) * 3600 + substr({zone}, 5, 2) * 60) END"
    )
    length = f"length({text}) - {width} - length({zone})"
    rest = build_let(offset, f"substr({text}, {width + 1}, {length})")
    offset, fraction = rest.names
    # NOTE: `length` and `substr` of a text end at a NUL character.
    is_known = (
        f"length({text}) = octet_length({text})"
        f" AND strftime('{form}', {head}) = {head} AND abs({offset}) <= {_MOST_OFFSET}"
        f" AND ({fraction} = '' OR length({fraction}) BETWEEN 2 AND 10"
        f" AND {fraction} GLOB '.*' AND substr({fraction}, 2) NOT GLOB '*[^0-9]*')"
    )
    key = (
        f"printf('%012d%-10s%06d', unixepoch({head}) - {offset} + {_SHIFT},"
        f" rtrim({fraction}, '.0'), {offset} + {_MOST_OFFSET})"
    )
    trap = render_trap("a time of another form")
    return parts.wrap(rest.wrap(f"CASE WHEN {is_known} THEN {key} ELSE {trap} END"))


def _render_duration(_text: str) -> str:
    return render_trap("an order of durations")


_KINDS: Final[Mapping[str, tuple[int, Callable[[str], str]]]] = {
    "dateTime": (1, _render_date_time),
    "date": (2, _render_date),
    "time": (3, _render_time),
    "duration": (4, _render_duration),
}
"""The rank of each schema's values, which sort before strings, and the function for their sort
keys.
"""
