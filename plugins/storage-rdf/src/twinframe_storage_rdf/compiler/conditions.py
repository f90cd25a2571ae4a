"""Adds conditions to a SELECT: as triples where these fix a value, else as filters."""

from __future__ import annotations

from twinframe.model.values import Value
from twinframe.query.algebra import (
    Binary,
    BinaryOperator,
    Expression,
    FunctionCall,
    ListExpression,
    Literal,
    Parameter,
    Variable,
)
from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf.compiler.abilities import JOINS, NARROW
from twinframe_storage_rdf.compiler.bindings import (
    Source,
    find_element_kinds,
    render_few_rows,
    render_rows,
    render_scalar,
)
from twinframe_storage_rdf.compiler.entities import find_member_path
from twinframe_storage_rdf.compiler.expressions import ExpressionCompiler
from twinframe_storage_rdf.compiler.functions import find_model
from twinframe_storage_rdf.compiler.labels import add_of_model
from twinframe_storage_rdf.compiler.select import Select
from twinframe_storage_rdf.mapping import RELATIONSHIP_MEMBERS, TWIN_MEMBERS, build_predicate
from twinframe_storage_rdf.terms import Iri


def add_condition(select: Select, conjunct: Expression, expressions: ExpressionCompiler) -> None:
    """Keep only the rows for which the condition is true."""
    if not select.guards and _add_pattern(select, conjunct):
        return
    before = len(select.guards)
    text = expressions.compile_condition(conjunct, certain=not before)
    # NOTE: a condition without guards of its own drops rows that another one would have to leave to
    # the evaluator, as AND does; rows that an earlier clause marked are kept.
    guards = select.guards if before or len(select.guards) > before else []
    if text != "true":
        select.add_filter(text, guards)


def _add_pattern(select: Select, conjunct: Expression) -> bool:
    """Add the condition as a pattern if possible; return whether it was added."""
    match conjunct:
        case Binary():
            return _add_triple(select, conjunct)
        case FunctionCall(name="digitaltwins.is_of_model", arguments=(Variable(name=name), *_)):
            model, term = find_model(conjunct), select.scope.get(name)
            if model is None or term is None or term.kinds != k.NODE:
                return False
            if term.owner is not select.root:
                return False
            add_of_model(model[0], term.text, select.root, exact=model[1])
            return True
        case _:
            return False


def _add_triple(select: Select, conjunct: Binary) -> bool:
    """PERF: a member that equals a string is a triple, which an index finds."""
    if conjunct.operator is BinaryOperator.EQUAL:
        for one, other in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
            source = _find_string(select, other)
            found = None if source is None else _find_predicate(select, one)
            if found is not None and source is not None:
                value = select.statement.bindings.bind(source, render_scalar)
                select.root.add_triple(found[0], found[1], value)
                return True
    return conjunct.operator is BinaryOperator.IN and _add_members(select, conjunct)


def _add_members(select: Select, conjunct: Binary) -> bool:
    """PERF: a list of values is joined, which costs its length once and not once a row.

    NOTE: rows whose value is null or not a scalar are dropped like those for which it is false.
    """
    listed = _find_list(select, conjunct.right)
    if listed is None:
        return False
    source, kinds = listed
    are_strings = kinds & ~k.NULL == k.STRING
    is_joined = select.statement.abilities.has(JOINS) and not select.is_inner
    found = _find_predicate(select, conjunct.left) if are_strings or is_joined else None
    if found is None:
        return False
    variable = select.statement.build_variable("x")
    # PERF: rdflib takes milliseconds to parse a literal in a text; the evaluator needs no text.
    is_slow = select.is_inner or not (are_strings or select.statement.abilities.proven is None)
    render = render_few_rows if is_slow else render_rows
    rows = select.statement.bindings.bind(source, render)
    values = f"VALUES{NARROW if are_strings else ''} {variable} {rows}"
    if is_joined:
        # PERF: Oxigraph scans a long VALUES for each row that it joins, but hashes the rows of a
        # subquery. A subquery within a group that sees outer rows runs once for each of them.
        values = f"{{ SELECT {variable} WHERE {{ {values} }} }}"
    select.root.triples.append(values)
    select.root.add_triple(found[0], found[1], variable)
    return True


def _find_string(select: Select, expression: Expression) -> Source | None:
    match expression:
        case Literal(value=str(value)):
            return Source(None, value)
        case Parameter(name=name) if select.statement.parameter_kinds.get(name) == k.STRING:
            return Source(name)
        case _:
            return None


def _find_list(select: Select, expression: Expression) -> tuple[Source, int] | None:
    """Find a non-empty list of scalars, constants or a parameter, and their kinds."""
    match expression:
        case ListExpression(items=items):
            values: list[Value] = [each.value for each in items if isinstance(each, Literal)]
            if len(values) != len(items):
                return None
            source, kinds = Source(None, values), find_element_kinds(values)
        case Parameter(name=name):
            source, kinds = Source(name), select.statement.list_kinds.get(name, 0)
        case _:
            return None
    return (source, kinds) if kinds & ~k.NULL and not kinds & ~k.SCALAR else None


def _find_predicate(select: Select, expression: Expression) -> tuple[str, Iri] | None:
    """The variable and the predicate of a member that is read of the group being filtered."""
    path = find_member_path(expression)
    if path is None or len(path.names) != 1:
        return None
    term = select.scope.get(path.name)
    if term is None or term.kinds & k.NULL or term.owner is not select.root:
        return None
    members = TWIN_MEMBERS if term.kinds == k.NODE else RELATIONSHIP_MEMBERS
    predicate = build_predicate(path.names, members)
    return None if predicate is None else (term.text, predicate)
