"""Describes the steps of a statement, for EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from twinframe.query.evaluate.run import Row
from twinframe.query.render import render_expression, render_operator
from twinframe.query.writing import steps as st

COLUMNS: Final = ("step", "plan")
"""The columns of what EXPLAIN answers."""


def explain_statement(statement: st.Statement) -> list[Row]:
    """Return a row for each step, in order: its name, and what it does as text."""
    rows: list[Row] = []
    for at, part in enumerate(statement.parts):
        if at:
            rows.append(("Union", "all" if statement.all else ""))
        rows += [(type(step).__name__, "\n".join(_render(step))) for step in part]
    return rows


def _render(step: st.Step) -> Iterator[str]:
    match step:
        case st.Read(root=root):
            yield from render_operator(root)
        case st.Create():
            yield from _render_create(step)
        case st.Merge(create=create, on_create=on_create, on_match=on_match):
            yield from _render_create(create)
            for name, items in (("on create", on_create), ("on match", on_match)):
                yield from (f"{name} {_render_item(item)}" for item in items)
        case st.Set(items=items):
            yield from map(_render_item, items)
        case st.Delete(expressions=expressions, detach=detach):
            shown = ", ".join(map(render_expression, expressions))
            yield f"detach {shown}" if detach else shown
        case st.Call(procedure=procedure):
            yield procedure.signature
        case st.CallStatement(statement=statement, in_transactions=in_transactions):
            if in_transactions:
                yield f"in transactions, on error {step.on_error.value.lower()}"
            for row in explain_statement(statement):
                yield " ".join(map(str, row))
        case _:
            assert_never(step)


def _render_create(step: st.Create) -> Iterator[str]:
    for element in step.elements:
        properties = element.properties
        shown = "" if properties is None else f" {render_expression(properties)}"
        if isinstance(element, st.NewNode):
            labels = "".join(f":{label}" for label in element.labels)
            yield f"({element.variable.strip()}{labels}{shown})"
        else:
            ends = element.source.strip(), element.target.strip()
            yield f"({ends[0]})-[{element.variable.strip()}:{element.type}{shown}]->({ends[1]})"


def _render_item(item: st.SetItem) -> str:
    subject = render_expression(item.subject)
    match item:
        case st.SetProperty(path=path, value=value):
            name = ".".join((subject, *path))
            return f"remove {name}" if value is None else f"{name} = {render_expression(value)}"
        case st.SetProperties(value=value, adds=adds):
            return f"{subject} {'+=' if adds else '='} {render_expression(value)}"
        case st.SetLabels(labels=labels, removes=removes):
            shown = subject + "".join(f":{label}" for label in labels)
            return f"remove {shown}" if removes else shown
