"""SQL for the order of stored times: those of one instant are equal, whatever their texts."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Mapping
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
from twinframe_storage_postgres.compiler.dialect import DIALECT

_RANKS: Final[Mapping[str, str]] = {"dateTime": "1", "date": "2", "time": "3", "duration": "4"}
"""Of the values of each schema, which sort before strings."""


def render_time_order(
    call: FunctionCall, subject: Term, bindings: Bindings, *, descending: bool
) -> list[str]:
    """Render the sort keys for a call of `STORED_TIME`."""
    if subject.kinds & ~k.NULL != k.NODE:
        raise CannotRun("An order of stored times that are no members of nodes.")
    name, places = read_declared_times(call)
    member = compile_member(subject, name, DIALECT)
    is_text = f"jsonb_typeof({member.json}) = 'string'"
    ranks = [
        f"WHEN {is_text} AND {_render_declares(subject, models, bindings)}"
        f" THEN '{_RANKS[kind]}' || twinframe_time('{kind}', {member.value})"
        for kind, models in places.items()
    ]
    word = " DESC" if descending else ""
    # NOTE: the first key has all of a text; the second would tell texts of one instant apart.
    return [
        f'(CASE {" ".join(ranks)} ELSE {DIALECT.render_rank(member)} END COLLATE "C"){word}',
        *(
            f"(CASE WHEN NOT {is_text} THEN {each} END){word}"
            for each in DIALECT.list_sort_keys(member)
        ),
    ]


def _render_declares(subject: Term, models: list[Value], bindings: Bindings) -> str:
    """Render whether the node's model is stored and is, or extends, one of `models`."""
    listed = bindings.bind(Source(None, models), build_json)
    return (
        f"{read_table(subject)}.model = ANY (ARRAY(SELECT c.descendant FROM interface AS i"
        " JOIN interface_closure AS c ON c.ancestor = i.id"
        " JOIN interface AS d ON d.id = c.descendant AND d.position IS NOT NULL"
        f" WHERE i.dtmi IN (SELECT jsonb_array_elements_text({listed}::jsonb))))"
    )
