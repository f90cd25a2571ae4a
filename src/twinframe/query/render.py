"""Renders the algebra as indented text, for EXPLAIN and golden files; the text is not parsed
again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias, assert_never

from twinframe.query import algebra as al
from twinframe.query.cypher.tokens import RESERVED
from twinframe.query.traversal import find_inputs

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


Remark: TypeAlias = Callable[[al.Operator | None], str]
"""What stands at the end of the first line of an operator; None is for the query as a whole."""


def render_query(query: al.Query, remark: Remark = lambda _: "") -> str:
    """Render the plan of a query: its columns, then one operator a line, sources indented below."""
    columns = ", ".join(_render_name(column) for column in query.columns)
    traits = "" if query.shape is al.ResultShape.OBJECT else f" as {query.shape.value}"
    traits += " without null" if query.omit_null else ""
    return f"Result {columns}{traits}{remark(None)}\n" + "\n".join(
        f"  {line}" for line in render_operator(query.root, remark)
    )


def render_operator(operator: al.Operator, remark: Remark = lambda _: "") -> list[str]:
    """Render the lines of an operator and of all below it."""
    lines: list[str] = []
    pending: list[tuple[al.Operator, int]] = [(operator, 0)]
    # NOTE: with an explicit stack, since chains of operators are the deepest part of a plan.
    while pending:
        current, depth = pending.pop()
        head, *more = _render_one(current)
        indent = "  " * depth
        lines.append(indent + head + remark(current))
        lines.extend(f"{indent}  {line}" for line in more)
        pending.extend((source, depth + 1) for source in reversed(find_inputs(current)))
    return lines


def render_parts(operator: al.Operator) -> tuple[str, str]:
    """Return the name of an operator, and the rest of it as text: one line, or several for a
    match.
    """
    head, *more = _render_one(operator)
    name, _, rest = head.partition(" ")
    return name, "\n".join([rest, *more] if rest else more)


def _render_one(operator: al.Operator) -> list[str]:
    """Render the operator's own line, and the lines below it."""
    match operator:
        case al.Unit():
            return ["Unit"]
        case al.Argument():
            return [f"Argument {_render_names(operator.variables)}".rstrip()]
        case al.Match():
            return _render_match(operator)
        case al.Filter():
            return [f"Filter {render_expression(operator.predicate)}"]
        case al.Project():
            return [f"Project {_render_items(operator.items)}".rstrip()]
        case al.Aggregate():
            return [_render_aggregate(operator)]
        case al.Distinct():
            return ["Distinct"]
        case al.Sort():
            return [f"Sort {', '.join(_render_key(key) for key in operator.keys)}"]
        case al.Skip():
            return [f"Skip {render_expression(operator.count)}"]
        case al.Limit():
            return [f"Limit {render_expression(operator.count)}"]
        case al.Unwind():
            expression = render_expression(operator.expression)
            return [f"Unwind {expression} AS {_render_name(operator.variable)}"]
        case al.Union():
            return ["Union all" if operator.all else "Union"]
        case al.Apply():
            return ["Apply"]
        case _:
            assert_never(operator)


def _render_match(operator: al.Match) -> list[str]:
    lines = ["OptionalMatch" if operator.optional else "Match"]
    pattern = operator.pattern
    lines += [f"node {_render_node(node)}" for node in pattern.nodes]
    lines += [f"relationship {_render_relationship(one)}" for one in pattern.relationships]
    lines += [_render_path(path) for path in pattern.paths]
    if operator.predicate is not None:
        lines.append(f"where {render_expression(operator.predicate)}")
    return lines


def _render_node(node: al.NodePattern) -> str:
    labels = f":{render_labels(node.labels)}" if node.labels is not None else ""
    return f"({_render_name(node.variable)}{labels}{_render_properties(node.properties)})"


def _render_relationship(one: al.RelationshipPattern) -> str:
    types = ":" + "|".join(_render_word(name) for name in one.types) if one.types else ""
    inside = f"{_render_name(one.variable)}{types}{_render_length(one.length)}"
    inside += _render_properties(one.properties)
    left = "<-" if one.direction is al.Direction.INCOMING else "-"
    right = "->" if one.direction is al.Direction.OUTGOING else "-"
    return f"({_render_name(one.left)}){left}[{inside}]{right}({_render_name(one.right)})"


def _render_length(length: al.Length | None) -> str:
    if length is None:
        return ""
    return f"*{length.minimum}..{'' if length.maximum is None else length.maximum}"


def _render_path(path: al.PathPattern) -> str:
    name = "" if path.variable is None else f"{_render_name(path.variable)} = "
    kind = "" if path.kind is al.PathKind.ALL else f"{path.kind.value} "
    return f"path {name}{kind}{_render_names(path.elements)}"


def _render_properties(properties: tuple[tuple[str, al.Expression], ...]) -> str:
    return f" {_render_entries(properties)}" if properties else ""


def _render_aggregate(operator: al.Aggregate) -> str:
    keys = _render_items(operator.keys) or "everything"
    calls = [f"{_render_call(call)} AS {_render_name(name)}" for name, call in operator.aggregates]
    return f"Aggregate {', '.join(calls)} by {keys}"


def _render_call(call: al.AggregateCall) -> str:
    if call.kind is al.AggregateKind.COUNT_ROWS:
        return "count(*)"
    arguments = ", ".join(render_expression(argument) for argument in call.arguments)
    return f"{call.kind.value}({'DISTINCT ' if call.distinct else ''}{arguments})"


def _render_items(items: tuple[tuple[str, al.Expression], ...]) -> str:
    rendered = []
    for name, expression in items:
        text = render_expression(expression)
        shown = _render_name(name)
        rendered.append(text if text == shown else f"{text} AS {shown}")
    return ", ".join(rendered)


def _render_key(key: al.SortKey) -> str:
    return render_expression(key.expression) + (" DESC" if key.descending else "")


# --- labels and names


def render_labels(labels: al.LabelExpression) -> str:
    """A label expression, fully parenthesised."""
    match labels:
        case al.LabelName():
            return _render_word(labels.name)
        case al.LabelNot():
            return f"!{render_labels(labels.operand)}"
        case al.LabelAnd():
            return f"({render_labels(labels.left)}&{render_labels(labels.right)})"
        case al.LabelOr():
            return f"({render_labels(labels.left)}|{render_labels(labels.right)})"
        case _:
            assert_never(labels)


def _render_name(name: str) -> str:
    if _is_plain(name) and name.upper() not in RESERVED:
        return name
    if name.startswith(" ") and _LETTERS.issuperset(name[1:]):
        return f"#{name[1:]}"
    return "`" + name.replace("`", "``") + "`"


def _render_member(name: str) -> str:
    """Render a property's name: reserved words and a first `$` need no backticks there."""
    return name if _is_plain(name.removeprefix("$")) else _render_name(name)


def _render_word(name: str) -> str:
    """Render a label or type: reserved words need no backticks there."""
    return name if _is_plain(name) else _render_name(name)


def _is_plain(name: str) -> bool:
    return bool(name) and not name[0].isdigit() and _LETTERS.issuperset(name)


def _render_names(names: tuple[str, ...]) -> str:
    return ", ".join(_render_name(name) for name in names)


# --- expressions


def render_expression(node: al.Expression) -> str:  # noqa: C901 -- one arm a kind of node
    """An expression in Cypher's spelling, operators fully parenthesised."""
    match node:
        case al.Literal():
            return _render_literal(node)
        case al.Parameter():
            return f"${_render_name(node.name)}"
        case al.Variable():
            return _render_name(node.name)
        case al.Property():
            return f"{render_expression(node.subject)}.{_render_member(node.key)}"
        case al.Subscript():
            return f"{render_expression(node.subject)}[{render_expression(node.index)}]"
        case al.Slice():
            start, end = _render_optional(node.start), _render_optional(node.end)
            return f"{render_expression(node.subject)}[{start}..{end}]"
        case al.ListExpression():
            return f"[{_render_all(node.items)}]"
        case al.MapExpression():
            return _render_entries(node.entries)
        case al.Unary():
            return _render_unary(node)
        case al.Binary():
            left, right = render_expression(node.left), render_expression(node.right)
            return f"({left} {node.operator.value} {right})"
        case al.HasLabels():
            return f"{render_expression(node.subject)}:{render_labels(node.labels)}"
        case al.Case():
            return _render_case(node)
        case al.FunctionCall(name=al.MAP_PROJECTION):
            return _render_map_projection(node)
        case al.FunctionCall():
            return f"{node.name}({_render_all(node.arguments)})"
        case al.ListComprehension():
            return _render_comprehension(node)
        case al.Quantifier():
            inside = f"{_render_name(node.variable)} IN {render_expression(node.source)}"
            return f"{node.kind.value}({inside} WHERE {render_expression(node.predicate)})"
        case al.Reduce():
            return _render_reduce(node)
        case al.Subplan():
            return _render_subplan(node)
        case _:
            assert_never(node)


def _render_literal(node: al.Literal) -> str:
    value = node.value
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def _render_optional(node: al.Expression | None) -> str:
    return "" if node is None else render_expression(node)


def _render_all(nodes: tuple[al.Expression, ...]) -> str:
    return ", ".join(render_expression(node) for node in nodes)


def _render_entries(entries: tuple[tuple[str, al.Expression], ...]) -> str:
    inside = ", ".join(f"{_render_member(key)}: {render_expression(one)}" for key, one in entries)
    return f"{{{inside}}}"


def _render_map_projection(node: al.FunctionCall) -> str:
    subject, entries, *own = map(render_expression, node.arguments)
    inside = ", ".join(filter(None, (".*" if own else "", entries[1:-1])))
    return f"{subject} {{{inside}}}"


def _render_unary(node: al.Unary) -> str:
    operand = render_expression(node.operand)
    match node.operator:
        case al.UnaryOperator.IS_NULL | al.UnaryOperator.IS_NOT_NULL:
            return f"({operand} {node.operator.value})"
        case al.UnaryOperator.NOT:
            return f"(NOT {operand})"
        case al.UnaryOperator.MINUS | al.UnaryOperator.PLUS:
            return f"({node.operator.value}{operand})"
        case _:
            assert_never(node.operator)


def _render_case(node: al.Case) -> str:
    parts = ["CASE"]
    if node.operand is not None:
        parts.append(render_expression(node.operand))
    for condition, result in node.branches:
        parts.append(f"WHEN {render_expression(condition)} THEN {render_expression(result)}")
    if node.default is not None:
        parts.append(f"ELSE {render_expression(node.default)}")
    return " ".join([*parts, "END"])


def _render_comprehension(node: al.ListComprehension) -> str:
    inside = f"{_render_name(node.variable)} IN {render_expression(node.source)}"
    if node.predicate is not None:
        inside += f" WHERE {render_expression(node.predicate)}"
    if node.projection is not None:
        inside += f" | {render_expression(node.projection)}"
    return f"[{inside}]"


def _render_reduce(node: al.Reduce) -> str:
    first = f"{_render_name(node.accumulator)} = {render_expression(node.initial)}"
    second = f"{_render_name(node.variable)} IN {render_expression(node.source)}"
    return f"reduce({first}, {second} | {render_expression(node.step)})"


def _render_subplan(node: al.Subplan) -> str:
    value = "" if node.value is None else f" {render_expression(node.value)}"
    return f"{node.kind.value}{value} {{ {_render_inline(node.plan)} }}"


def _render_inline(operator: al.Operator) -> str:
    """Render a plan on one line: an operator is left of its source."""
    steps: list[str] = []
    current = operator
    while True:
        head, *details = _render_one(current)
        steps.append(f"{head} [{', '.join(details)}]" if details else head)
        sources = find_inputs(current)
        if len(sources) != 1:
            break
        current = sources[0]
    if sources:
        steps.append(", ".join(f"({_render_inline(source)})" for source in sources))
    return " <- ".join(steps)
