"""Compiles operators of the algebra to SELECTs, with one method per operator.

An operator extends the SELECT of its source if SQL gives that the same meaning; otherwise it wraps
it into a derived table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from twinframe.model.values import Value
from twinframe.query.algebra import (
    Aggregate,
    Apply,
    Argument,
    Distinct,
    Expression,
    Filter,
    FunctionCall,
    Limit,
    Literal,
    Match,
    Operator,
    Project,
    Query,
    Skip,
    Sort,
    SortKey,
    Subplan,
    SubplanKind,
    Union,
    Unit,
    Unwind,
)
from twinframe.query.engine import STORED_TIME, CannotRun
from twinframe.query.evaluate.analysis import find_arguments
from twinframe.query.sql import kinds as k
from twinframe.query.sql.aggregates import compile_aggregate
from twinframe.query.sql.bindings import build_count
from twinframe.query.sql.columns import Column
from twinframe.query.sql.expressions import ExpressionCompiler
from twinframe.query.sql.extensions import Extensions
from twinframe.query.sql.grouping import Groups, PlainGroups
from twinframe.query.sql.names import find_needed
from twinframe.query.sql.optional import (
    compile_alternatives,
    compile_optional,
    is_joinable,
)
from twinframe.query.sql.order import render_order
from twinframe.query.sql.patterns import PatternCompiler, build_conjuncts
from twinframe.query.sql.select import (
    Page,
    Select,
    Statement,
    build_column,
)
from twinframe.query.sql.term import (
    NULL_TERM,
    Term,
    check_path,
)

_LONG = 1_000
"""The number of characters of SQL above which a text counts as long."""


def compile_plan(query: Query, parameters: Mapping[str, Value], extensions: Extensions) -> Select:
    """Compile a whole query to the outermost SELECT of a statement.

    Of `parameters` only names and types are used.
    """
    kinds = {name: _find_kind(value) for name, value in parameters.items()}
    statement = Statement(extensions.dialect, parameter_kinds=kinds, names=find_needed(query))
    return PlanCompiler(statement, extensions).compile(query.root)


def read_column(select: Select, name: str) -> Term:
    """Return the term of the result column `name`."""
    term = select.scope.get(name)
    if term is None:
        raise CannotRun(f"The column {name}.")
    return select.refine(term)


def build_columns(query: Query, select: Select, extensions: Extensions) -> tuple[Column, ...]:
    """The columns of `query`, in order."""
    return tuple(extensions.build_column(read_column(select, name)) for name in query.columns)


def _find_kind(value: Value) -> int:
    kind = k.find_kind(value)
    if kind is None:
        raise CannotRun(f"A parameter of the type {type(value).__name__}.")
    return kind


class PlanCompiler:
    """Compiles the operators of one statement."""

    def __init__(self, statement: Statement, extensions: Extensions) -> None:
        self._statement = statement
        self._dialect = statement.dialect
        self._extensions = extensions

    def compile(self, operator: Operator, outer: Select | None = None) -> Select:
        """The SELECT of an operator; `outer` is the SELECT whose row `Argument` stands for."""
        match operator:
            case Unit():
                return Select(self._statement)
            case Argument():
                return self._compile_argument(operator, outer)
            case Match():
                return self._compile_match(operator, outer)
            case Filter():
                return self._compile_filter(operator, outer)
            case Project():
                return self._compile_project(operator, outer)
            case Aggregate():
                return self._compile_aggregate(operator, outer)
            case Distinct():
                return self._build_distinct(self.compile(operator.source, outer))
            case Sort():
                return self._compile_sort(operator, outer)
            case Skip():
                return self._compile_skip(operator, outer)
            case Limit():
                return self._compile_limit(operator, outer)
            case Unwind():
                return self._compile_unwind(operator, outer)
            case Union():
                return self._compile_union(operator, outer)
            case Apply():
                return self._compile_apply(operator, outer)
            case _:
                assert_never(operator)

    def build_expressions(self, select: Select) -> ExpressionCompiler:
        """The compiler of expressions over the scope of `select`."""
        return ExpressionCompiler(select, self._extensions, self._compile_subplan)

    def _compile_open(self, operator: Operator, outer: Select | None) -> Select:
        select = self.compile(operator, outer)
        return select if select.is_open else select.build_wrapped()

    # --- rows in --------------------------------------------------------------------------------

    def _compile_argument(self, operator: Argument, outer: Select | None) -> Select:
        if outer is None:
            raise CannotRun("The operator Argument outside of a subplan.")
        return Select(self._statement, {name: outer.scope[name] for name in operator.variables})

    def _compile_match(self, operator: Match, outer: Select | None) -> Select:
        select = self._compile_open(operator.source, outer)
        select.order_by = []
        if operator.optional and not is_joinable(select, operator):
            return self._unite(compile_alternatives(select, operator, self.build_expressions))
        if operator.optional:
            return compile_optional(select, operator, self.build_expressions)
        return PatternCompiler(
            select, operator.pattern, operator.predicate, self.build_expressions
        ).compile()

    def _compile_filter(self, operator: Filter, outer: Select | None) -> Select:
        select = self._compile_open(operator.source, outer)
        expressions = self.build_expressions(select)
        for conjunct in build_conjuncts(operator.predicate):
            select.add_condition(expressions.compile_condition(conjunct))
        return select

    def _compile_unwind(self, operator: Unwind, outer: Select | None) -> Select:
        select = self._compile_open(operator.source, outer)
        term = self.build_expressions(select).compile_term(operator.expression)
        if term.kinds == k.NULL:
            select.add_condition(self._dialect.no)
            select.scope[operator.variable] = NULL_TERM
            return select
        is_driven = select.is_driven
        select.scope[operator.variable] = self._extensions.join_list(term, select)
        select.is_driven = is_driven
        return select

    def _compile_apply(self, operator: Apply, outer: Select | None) -> Select:
        """Compile a subquery; one that reads nothing of its row is the same table for each."""
        if find_arguments(operator.plan):
            raise CannotRun("A subquery that reads variables of the query around it.")
        select = self._compile_open(operator.source, outer)
        select.order_by = []
        inner = self.compile(operator.plan, Select(self._statement))
        names = [name for name in inner.scope if name in self._statement.names]
        terms = [inner.scope[name] for name in names]
        columns = [f"{inner.render_column(name)} AS c{i}" for i, name in enumerate(names)]
        select.ctes += inner.ctes
        inner.ctes = []
        alias = self._statement.alias("q")
        select.join(f"({inner.render(columns or ['1'])}) AS {alias}")
        select.is_driven = True
        for i, (name, term) in enumerate(zip(names, terms, strict=True)):
            select.scope[name] = build_column(inner.refine(term), f"{alias}.c{i}", select)
        return select

    # --- scope ----------------------------------------------------------------------------------

    def _compile_project(self, operator: Project, outer: Select | None) -> Select:
        select = self.compile(operator.source, outer)
        expressions = self.build_expressions(select)
        select.scope = {name: expressions.compile_term(e) for name, e in operator.items}
        # PERF: a term that builds on a long text would repeat it.
        if not select.order_by and any(_is_long(term) for term in select.scope.values()):
            return select.build_fenced()
        return select

    def _compile_aggregate(self, operator: Aggregate, outer: Select | None) -> Select:
        select = self._compile_open(operator.source, outer)
        expressions = self.build_expressions(select)
        keys = {name: expressions.compile_term(each) for name, each in operator.keys}
        calls = [call for _, call in operator.aggregates]
        kept = self._extensions.compile_kept_count(select, keys.values(), calls)
        groups: Groups = PlainGroups(select)
        if kept is None:
            groups = self._extensions.open_groups(select, keys.values(), calls)
        aggregates = {
            name: kept or compile_aggregate(call, expressions, select, groups.carry)
            for name, call in operator.aggregates
        }
        return groups.build_groups(keys, aggregates)

    def _build_distinct(self, source: Select) -> Select:
        select = source if source.is_open else source.build_wrapped()
        groups = self._extensions.open_groups(select, select.scope.values(), ())
        return groups.build_groups(select.scope, {})

    def _compile_union(self, operator: Union, outer: Select | None) -> Select:
        left, right = self.compile(operator.left, outer), self.compile(operator.right, outer)
        select = self._unite((left, right))
        return select if operator.all else self._build_distinct(select)

    def _unite(self, sides: tuple[Select, Select]) -> Select:
        """Unite the rows of both sides, which have the same variables."""
        names = list(sides[0].scope)
        if set(names) != set(sides[1].scope):
            raise CannotRun("The operator Union of different columns.")
        select = Select(self._statement)
        alias = self._statement.alias("q")
        merged = {name: self._merge(sides[0].scope[name], sides[1].scope[name]) for name in names}
        arms = []
        for side in sides:
            if side.order_by or side.page is not None:
                side = side.build_wrapped()
                side.order_by = []
            columns = [
                f"{self._render_as(side.scope[name], merged[name])} AS c{i}"
                for i, name in enumerate(names)
            ]
            select.ctes += side.ctes
            side.ctes = []
            arms.append(side.render(columns or ["1"]))
        select.join(f"({' UNION ALL '.join(arms)}) AS {alias}")
        select.is_driven = True
        for i, name in enumerate(names):
            select.scope[name] = build_column(merged[name], f"{alias}.c{i}", select)
        return select

    # --- order and page -------------------------------------------------------------------------

    def _compile_sort(self, operator: Sort, outer: Select | None) -> Select:
        select = self.compile(operator.source, outer)
        if select.page is not None:
            select = select.build_wrapped()
        expressions = self.build_expressions(select)
        select.order_by = [
            each for key in operator.keys for each in self._render_key(key, expressions)
        ]
        return select

    def _render_key(self, key: SortKey, expressions: ExpressionCompiler) -> list[str]:
        match key.expression:
            case FunctionCall(name=name, arguments=arguments) as call if name == STORED_TIME:
                subject = expressions.compile_term(arguments[0])
                bindings = self._statement.bindings
                return self._extensions.render_time_order(
                    call, subject, bindings, descending=key.descending
                )
            case expression:
                term = expressions.compile_term(expression)
                return render_order(term, self._dialect, descending=key.descending)

    def _compile_skip(self, operator: Skip, outer: Select | None) -> Select:
        select = self.compile(operator.source, outer)
        if select.page is not None:
            select = select.build_wrapped()
        select.page = Page(skip=self._bind_count(operator.count))
        return select

    def _compile_limit(self, operator: Limit, outer: Select | None) -> Select:
        select = self.compile(operator.source, outer)
        if select.page is not None and select.page.limit is not None:
            select = select.build_wrapped()
        skip = None if select.page is None else select.page.skip
        select.page = Page(skip, self._bind_count(operator.count))
        # PERF: columns of nodes that are still needed are read for the remaining rows only.
        return select.build_wrapped() if select.has_unread_entities() else select

    def _bind_count(self, count: Expression) -> str:
        return self._statement.bindings.bind_constant(count, build_count, "SKIP or LIMIT")

    # --- subplans -------------------------------------------------------------------------------

    def _compile_subplan(self, subplan: Subplan, outer: Select) -> Term:
        select = self.compile(subplan.plan, outer)
        if subplan.kind is SubplanKind.EXISTS:
            return Term(k.BOOLEAN, f"EXISTS ({select.render(['1'])})")
        if not select.is_open:
            select = select.build_wrapped()
        if subplan.kind is SubplanKind.COUNT:
            select.order_by = []
            return Term(k.INTEGER, f"({select.render(['count(*)'])})")
        return self._build_collected(subplan, select)

    def _build_collected(self, subplan: Subplan, select: Select) -> Term:
        value = subplan.value or Literal(None)
        term = self.build_expressions(select).compile_term(value)
        return self._extensions.compile_collected(term, select)

    # --- unions ---------------------------------------------------------------------------------

    def _merge(self, left: Term, right: Term) -> Term:
        """Build a term that stands for either; the derived table supplies its columns."""
        kinds = left.kinds | right.kinds
        entities = k.ENTITIES
        elements = 0
        for term in (left, right):
            elements |= term.elements if term.kinds & (k.LIST | k.PATH) else 0
            check_path(term)
        if kinds & entities and not self._dialect.is_plain(kinds):
            raise CannotRun("The operator Union of a node or relationship with another type.")
        if kinds & k.LIST and elements & entities and elements & ~k.NULL not in k.ONE_ENTITY:
            raise CannotRun("The operator Union of lists of different types.")
        if kinds & k.LIST and elements & entities and not self._dialect.is_plain(kinds):
            raise CannotRun("The operator Union of a list of nodes with another type.")
        tag = None if self._dialect.is_plain(kinds) else self._dialect.render_trap("unreachable")
        return Term(kinds, "NULL", tag=tag, elements=elements)

    def _render_as(self, term: Term, merged: Term) -> str:
        if self._dialect.is_plain(merged.kinds):
            return self._dialect.read_as_column(term, merged.kinds)
        return self._dialect.render_as_json(self._dialect.render_json(term))


def _is_long(term: Term) -> bool:
    return len(term.value) > _LONG and not term.holds_entities
