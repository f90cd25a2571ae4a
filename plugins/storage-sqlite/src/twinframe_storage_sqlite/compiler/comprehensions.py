"""Compiles expressions over the elements of a list: list comprehensions, quantifiers and `reduce`.

Each becomes a subquery over `json_each`, whose row binds the variable.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from dataclasses import replace

from twinframe.query.algebra import (
    ListComprehension,
    Quantifier,
    QuantifierKind,
    Reduce,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.sql import NULL_TERM, Compiler, Compilers, Select, Term, build_column
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.dialect import DIALECT
from twinframe_storage_sqlite.compiler.elements import (
    find_element_kinds,
    join_elements,
    read_list,
    render_group,
)
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.json_terms import render_item
from twinframe_storage_sqlite.compiler.lets import build_let
from twinframe_storage_sqlite.compiler.lists import LONGEST_LIST

_ROUNDS = 4


def compile_elements(
    expression: ListComprehension | Quantifier | Reduce,
    source: Term,
    initial: Term | None,
    outer: Select,
    compilers: Compilers,
) -> Term:
    """A comprehension, a quantifier, or `reduce`, which has an `initial` accumulator."""
    match expression:
        case ListComprehension():
            return _compile_comprehension(expression, source, outer, compilers)
        case Quantifier():
            return _compile_quantifier(expression, source, outer, compilers)
        case Reduce():
            return _compile_reduce(expression, source, initial or NULL_TERM, outer, compilers)


def _compile_comprehension(
    expression: ListComprehension, source: Term, outer: Select, compilers: Compilers
) -> Term:
    """`[variable IN source WHERE predicate | projection]`."""
    let = build_let(read_list(source, "a list comprehension"))
    inner = Select(outer.statement, outer.scope)
    element, position = join_elements(let.names[0], source.elements, inner)
    inner.scope[expression.variable] = element
    compiler = compilers(inner)
    if expression.predicate is not None:
        inner.add_condition(compiler.compile_test(expression.predicate, wanted=True))
    item = compiler.compile_term(expression.projection or Variable(expression.variable))
    elements = find_element_kinds([item], "A list comprehension")
    text = f"({inner.render([render_group(item, position)])})"
    if source.kinds != k.LIST:
        text = f"CASE WHEN {let.names[0]} IS NOT NULL THEN {text} END"
    kinds = k.LIST | (0 if source.kinds == k.LIST else k.NULL)
    return Term(kinds, let.wrap(text), elements=elements, assumed=True)


# --- quantifiers --------------------------------------------------------------------------------

_DECISIONS = {
    QuantifierKind.ANY: "CASE WHEN max(p.v) = 1 THEN 1 WHEN count(p.v) = count(*) THEN 0 END",
    QuantifierKind.ALL: "CASE WHEN min(p.v) = 0 THEN 0 WHEN count(p.v) = count(*) THEN 1 END",
    QuantifierKind.NONE: "CASE WHEN max(p.v) = 1 THEN 0 WHEN count(p.v) = count(*) THEN 1 END",
    QuantifierKind.SINGLE: (
        "CASE WHEN sum(p.v) > 1 THEN 0 WHEN count(p.v) = count(*) THEN total(p.v) = 1 END"
    ),
}


def _compile_quantifier(
    expression: Quantifier, source: Term, outer: Select, compilers: Compilers
) -> Term:
    """`all|any|none|single(variable IN source WHERE predicate)`."""
    let = build_let(read_list(source, f"{expression.kind.value}()"))
    inner, compiler = _open_elements(expression, source, let.names[0], outer, compilers)
    truth = compiler.compile_truth_value(expression.predicate)
    # NOTE: a derived table, so that the aggregates are over the elements, not over an outer row.
    text = f"(SELECT {_DECISIONS[expression.kind]} FROM ({inner.render([f'{truth} AS v'])}) AS p)"
    if source.kinds != k.LIST:
        text = f"CASE WHEN {let.names[0]} IS NOT NULL THEN {text} END"
    return Term(k.BOOLEAN | k.NULL, let.wrap(text), assumed=True)


def compile_some(expression: Quantifier, source: Term, outer: Select, compilers: Compilers) -> str:
    """Compile `any(...)` to SQL that is 1 exactly when it is true, stopping at the first element.

    PERF: elements after the first true one are not read, so their types are not checked.
    """
    text = read_list(source, f"{expression.kind.value}()")
    inner, compiler = _open_elements(expression, source, text, outer, compilers)
    inner.add_condition(compiler.compile_test(expression.predicate, wanted=True))
    # NOTE: a condition that reads no element may keep SQLite from reading the list.
    return DIALECT.render_forced(f"EXISTS ({inner.render(['1'])})", Term(k.LIST, text))


def _open_elements(
    expression: Quantifier, source: Term, text: str, outer: Select, compilers: Compilers
) -> tuple[Select, Compiler]:
    inner = Select(outer.statement, outer.scope)
    inner.scope[expression.variable], _ = join_elements(text, source.elements, inner)
    return inner, compilers(inner)


# --- reduce -------------------------------------------------------------------------------------


def _compile_reduce(
    expression: Reduce, source: Term, initial: Term, outer: Select, compilers: Compilers
) -> Term:
    """Compile `reduce(accumulator = initial, variable IN source | step)`.

    The kinds of the accumulator are those of `initial` and of every step: the step is compiled
    until it adds none.
    """
    if (initial.kinds | source.elements) & k.ENTITIES:
        raise CannotRun("reduce() over nodes or relationships.")
    let = build_let(read_list(source, "reduce()"))
    kinds, elements = initial.kinds, initial.elements if initial.kinds & k.LIST else 0
    for _ in range(_ROUNDS):
        table, text, result = _compile_steps(
            expression,
            source,
            Term(kinds, "NULL", elements=elements),
            let.names[0],
            outer,
            compilers,
        )
        if elements | result.elements & k.ENTITIES and elements & k.ENTITIES:
            raise CannotRun("reduce() to a list of nodes or relationships.")
        more = result.kinds | kinds
        more_elements = elements | (result.elements if result.kinds & k.LIST else 0)
        if (more, more_elements) == (kinds, elements):
            break
        kinds, elements = more, more_elements
    else:
        raise CannotRun("reduce() to a value of so many types.")
    accumulated = Term(kinds, "NULL", elements=elements or k.JSON)
    start = _render_carried(initial, kinds)
    trap = render_trap("reduce() over so long a list")
    items = let.names[0]
    last = f"{table}.i = json_array_length({items})"
    value = (
        f"(WITH RECURSIVE {table}(i, a) AS (SELECT 0, {start} UNION ALL {text})"
        f" SELECT {table}.a FROM {table} WHERE {last})"
    )
    value = (
        f"CASE WHEN {items} IS NULL THEN NULL"
        f" WHEN json_array_length({items}) > {LONGEST_LIST} THEN {trap} ELSE {value} END"
    )
    nullable = 0 if source.kinds == k.LIST else k.NULL
    term = replace(accumulated, kinds=kinds | nullable)
    return replace(build_column(term, let.wrap(value), outer), assumed=True)


def _compile_steps(
    expression: Reduce,
    source: Term,
    accumulated: Term,
    items: str,
    outer: Select,
    compilers: Compilers,
) -> tuple[str, str, Term]:
    """Return the recursive table, its step as SQL, and the term of a step."""
    table = outer.statement.alias("a")
    inner = Select(outer.statement, outer.scope)
    inner.join(table)
    inner.is_driven = True
    element, position = join_elements(items, source.elements, inner)
    inner.add_condition(f"{position} = {table}.i")
    inner.scope[expression.variable] = element
    inner.scope[expression.accumulator] = build_column(accumulated, f"{table}.a", inner)
    result = compilers(inner).compile_term(expression.step)
    if result.kinds & k.ENTITIES or result.holds_entities:
        raise CannotRun("reduce() to a node or relationship.")
    kinds = accumulated.kinds | result.kinds
    carried = _render_carried(result, kinds)
    return table, inner.render([f"{table}.i + 1", carried]), result


def _render_carried(term: Term, kinds: int) -> str:
    return term.value if DIALECT.is_plain(kinds) else render_item(term)
