"""Compiles operators of the algebra to SELECTs, with one method per operator.

An operator extends the SELECT of its source if SPARQL gives that the same meaning; otherwise it
wraps it into a subquery.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from twinframe.model.values import Value
from twinframe.query.algebra import (
    Aggregate,
    Apply,
    Argument,
    Distinct,
    Expression,
    Filter,
    Limit,
    Literal,
    Match,
    Operator,
    Parameter,
    Project,
    Skip,
    Sort,
    Subplan,
    SubplanKind,
    Union,
    Unit,
    Unwind,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe.query.evaluate.analysis import find_conjuncts
from twinframe.query.evaluate.constants import find_known
from twinframe_storage_rdf.compiler.abilities import PATHS
from twinframe_storage_rdf.compiler.aggregates import compile_aggregate
from twinframe_storage_rdf.compiler.bindings import Source, render_count, render_elements
from twinframe_storage_rdf.compiler.composites import Composite, compile_composite, is_json
from twinframe_storage_rdf.compiler.conditions import add_condition
from twinframe_storage_rdf.compiler.expressions import ExpressionCompiler
from twinframe_storage_rdf.compiler.order import render_order, render_order_mark
from twinframe_storage_rdf.compiler.patterns import PatternCompiler
from twinframe_storage_rdf.compiler.select import Select
from twinframe_storage_rdf.compiler.term import (
    DOUBLE_TYPE,
    Group,
    Statement,
    Term,
    render_bound,
    render_is_nested,
    render_mark,
)


class PlanCompiler:
    """Compiles the operators of one query."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement

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
                return self._build_distinct(self._compile_open(operator.source, outer))
            case Sort():
                return self._compile_sort(operator, outer)
            case Skip() | Limit():
                return self._compile_page(operator, outer)
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
        return ExpressionCompiler(select, self._compile_subplan)

    def _compile_open(self, operator: Operator, outer: Select | None) -> Select:
        select = self.compile(operator, outer)
        return select if select.is_open else select.build_wrapped()

    # --- rows in --------------------------------------------------------------------------------

    def _compile_argument(self, operator: Argument, outer: Select | None) -> Select:
        if outer is None:
            if operator.variables:
                raise CannotRun("A subquery for each row.")
            return Select(self._statement)
        select = Select(self._statement, outer)
        for name in operator.variables:
            if name in outer.known:
                select.known[name] = outer.known[name]
            if name in outer.scope:
                select.scope[name] = outer.scope[name]
            elif name not in outer.known:
                raise CannotRun("A list, map or path that is used further.")
        return select

    def _compile_match(self, operator: Match, outer: Select | None) -> Select:
        select = self._compile_open(operator.source, outer)
        if select.composites and not isinstance(operator.source, Match):
            raise CannotRun("A list, map or path that is used further.")
        if select.guards:
            # NOTE: joining could drop rows that must be left to the evaluator.
            raise CannotRun("A match behind a condition that only its values can check.")
        select.order_by = []
        if not operator.optional:
            select = _drop_absent(select, operator)
            self._add_match(select, operator)
            return select
        return self._compile_optional(select, operator)

    def _add_match(self, select: Select, operator: Match) -> None:
        is_test = select.is_inner and not operator.optional
        PatternCompiler(select, operator.pattern, self._add_condition, is_test=is_test).compile()
        for conjunct in find_conjuncts(operator.predicate):
            self._add_condition(select, conjunct)

    def _compile_optional(self, select: Select, operator: Match) -> Select:
        """SPEC: SPARQL 1.1 section 18.2.2.6: filters of the optional group see the outer row."""
        if select.is_inner:
            raise CannotRun("An optional match inside a subquery.")
        inner = Select(self._statement, select)
        inner.root = Group(self._statement)
        inner.scope = dict(select.scope)
        self._add_match(inner, operator)
        if inner.root.tail:
            raise CannotRun("An optional match with computed values.")
        for path in operator.pattern.paths:
            if path.variable in inner.composites and select.scope.keys() >= {*path.elements}:
                # NOTE: nothing is absent that would tell whether the path is there.
                raise CannotRun("An optional path between what is bound before.")
        has_union = any("UNION" in each for each in inner.root.triples)
        if has_union and not self._statement.abilities.has(PATHS):
            # NOTE: Virtuoso loses rows of larger unions in an OPTIONAL, in plans that vary with the
            # graph, so no probe shows it. Such a server is told by its paths.
            raise CannotRun(
                "A union in an optional match, for a server that is not exact in paths."
            )
        for name, term in inner.scope.items():
            if name not in select.scope:
                select.scope[name] = Term(term.kinds | k.NULL, term.text, term.owner)
        select.composites |= {
            name: _build_nullable(made, select) for name, made in inner.composites.items()
        }
        select.root.tail.append(inner.root)
        return select

    def _compile_filter(self, operator: Filter, outer: Select | None) -> Select:
        select = self._compile_open(operator.source, outer)
        for conjunct in find_conjuncts(operator.predicate):
            self._add_condition(select, conjunct)
        return select

    def _add_condition(self, select: Select, conjunct: Expression) -> None:
        add_condition(select, conjunct, self.build_expressions(select))

    def _compile_unwind(self, operator: Unwind, outer: Select | None) -> Select:
        select = self._compile_open(operator.source, outer)
        source, elements = self._read_list(operator.expression, select)
        if select.is_inner or select.guards:
            raise CannotRun("The operator Unwind inside a subquery.")
        select.order_by = []
        variable = self._statement.build_variable("u")
        rows = self._statement.bindings.bind(source, render_elements)
        select.root.heads.append(f"VALUES {variable} {rows}")
        select.scope[operator.variable] = Term(elements | k.NULL, variable)
        return select

    def _compile_apply(self, operator: Apply, outer: Select | None) -> Select:
        """Compile a subquery; one that reads nothing of its row has the same rows for each."""
        select = self._compile_open(operator.source, outer)
        if select.is_inner or select.guards:
            raise CannotRun("A subquery for each row.")
        inner = self.compile(operator.plan).build_wrapped()
        select.order_by = []
        select.root.heads += inner.root.heads
        select.root.is_loose = True
        select.guards = inner.guards
        select.known |= inner.known
        for name, term in inner.scope.items():
            owner = None if term.owner is None else select.root
            select.scope[name] = replace(term, owner=owner)
        return select

    def _read_list(self, expression: Expression, select: Select) -> tuple[Source, int]:
        found = find_known(expression, select.known)
        if found is not None and found.value is not None:
            one = found.value
            values: list[Value] = [*one] if isinstance(one, list) else [one]
            return Source(None, values), _find_scalar_kinds(values)
        match expression:
            case Parameter(name=name) if name in self._statement.list_kinds:
                return Source(name), self._statement.list_kinds[name]
            case _:
                raise CannotRun("The operator Unwind over a computed list.")

    # --- scope ----------------------------------------------------------------------------------

    def _compile_project(self, operator: Project, outer: Select | None) -> Select:
        select = self.compile(operator.source, outer)
        expressions = self.build_expressions(select)
        wanted: dict[str, Term] = {}
        composites: dict[str, Composite] = {}
        known: dict[str, Value] = {}
        for name, each in operator.items:
            found = find_known(each, select.known)
            if found is not None and is_json(found.value):
                known[name] = found.value
            made = compile_composite(
                each, select.composites, select.known, expressions.compile_term
            )
            if made is None:
                wanted[name] = expressions.compile_term(each)
            elif name not in known:
                composites[name] = made
        select.scope, select.composites, select.known = wanted, composites, known
        if select.is_inner or composites:
            return select
        # NOTE: a computed value that is used again would be computed at each use.
        if not select.order_by and any(len(term.text) > 200 for term in wanted.values()):
            return select.build_wrapped()
        return select

    def _compile_aggregate(self, operator: Aggregate, outer: Select | None) -> Select:
        select = self._compile_open(operator.source, outer)
        if select.is_inner:
            raise CannotRun("An aggregate inside a subquery.")
        select.order_by = []
        expressions = self.build_expressions(select)
        keys, known = {}, {}
        for name, each in operator.keys:
            found = find_known(each, select.known)
            if found is not None and is_json(found.value):
                known[name] = found.value
            # NOTE: a list or map that is the same in all rows is grouped by as if it were a number.
            is_nested = name in known and isinstance(known[name], list | dict)
            keys[name] = expressions.compile_term(Literal(1) if is_nested else each)
        calls = []
        for name, call in operator.aggregates:
            term = expressions.compile_term(call.arguments[0]) if call.arguments else None
            if len(call.arguments) > 1:
                raise CannotRun(f"The aggregate {call.kind.value}().")
            calls.append((name, compile_aggregate(call, term)))
        result = Select(self._statement)
        result.root.is_loose = True
        result.known = known
        columns, groups = [], []
        for name, term in keys.items():
            variable = term.text
            if not term.is_variable:
                variable = self._statement.build_variable("k")
                select.root.tail.append(f"BIND({term.text} AS {variable})")
            owner = result.root if term.kinds & k.ENTITIES else None
            if not isinstance(known.get(name), list | dict):
                result.scope[name] = Term(term.kinds, variable, owner)
            if variable not in groups:
                groups.append(variable)
        columns += groups
        for name, aggregated in calls:
            variable = self._statement.build_variable("a")
            columns.append(f"({aggregated.text} AS {variable})")
            result.scope[name] = Term(aggregated.kinds, variable)
            for guard in aggregated.guards:
                if "{}" not in guard:
                    mark = self._statement.build_variable("g")
                    columns.append(f"(COALESCE({guard}, false) AS {mark})")
                    guard = mark
                result.guards.append(f"COALESCE({guard.format(variable)}, false)")
        trap = select.build_trap()
        if trap is not None:
            mark = self._statement.build_variable("g")
            columns.append(f"(MAX(IF({trap}, 1, 0)) AS {mark})")
            result.guards.append(f"COALESCE({mark} > 0, false)")
            select.guards = []
        self._guard_keys(result, [result.scope[name] for name in keys if name in result.scope])
        select.group_by = groups
        select.group_mark = render_mark(*keys.values())
        result.root.heads.append(f"{{ {select.render(columns or ['(COUNT(*) AS ?n0)'])} }}")
        return result

    def _build_distinct(self, select: Select) -> Select:
        select.is_distinct = True
        select.order_by = []
        result = select.build_wrapped()
        self._guard_keys(result, list(result.scope.values()))
        return result

    def _guard_keys(self, select: Select, terms: list[Term]) -> None:
        """SPEC: openCypher 9: 1 and 1.0 are one group; in SPARQL they are two terms.

        Lists and maps are texts here, which differ where their values are equivalent.
        """
        for term in terms:
            if term.kinds & k.FLOAT and term.kinds & k.INTEGER:
                x = term.text
                select.add_guard(f"DATATYPE({x}) = {DOUBLE_TYPE} && {x} = FLOOR({x})")
            elif term.kinds & k.FLOAT:
                select.add_guard(f"{term.text} = 0")
            if term.kinds & k.NESTED:
                select.add_guard(render_is_nested(term))

    def _compile_union(self, operator: Union, outer: Select | None) -> Select:
        if outer is not None:
            raise CannotRun("The operator Union inside a subquery.")
        sides = [self.compile(each) for each in (operator.left, operator.right)]
        if any(side.composites or side.known.keys() - side.scope.keys() for side in sides):
            raise CannotRun("A list, map or path that is used further.")
        names = list(sides[0].scope)
        if set(names) != set(sides[1].scope):
            raise CannotRun("The operator Union of different columns.")
        result = Select(self._statement)
        result.root.is_loose = True
        merged = {name: self._statement.build_variable("v") for name in names}
        mark = self._statement.build_variable("g")
        arms = []
        for side in sides:
            if side.is_distinct or side.group_by is not None:
                side = side.build_wrapped()
            columns = [f"({side.scope[name].text} AS {merged[name]})" for name in names]
            columns.append(f"({side.build_trap() or 'false'} AS {mark})")
            arms.append(f"{{ {side.render(columns)} }}")
        result.root.heads.append(f"{{ {' UNION '.join(arms)} }}")
        if any(side.guards for side in sides):
            result.guards.append(f"COALESCE({mark}, false)")
        for name in names:
            kinds = sides[0].scope[name].kinds | sides[1].scope[name].kinds
            entity = kinds & k.ENTITIES
            if entity and kinds & ~k.NULL not in (k.NODE, k.RELATIONSHIP):
                raise CannotRun("The operator Union of a node or relationship with another type.")
            result.scope[name] = Term(kinds, merged[name], result.root if entity else None)
        return result if operator.all else self._build_distinct(result)

    # --- order and page -------------------------------------------------------------------------

    def _compile_sort(self, operator: Sort, outer: Select | None) -> Select:
        select = self._compile_open(operator.source, outer)
        if select.is_inner:
            raise CannotRun("An order inside a subquery.")
        expressions = self.build_expressions(select)
        terms = [expressions.compile_term(key.expression) for key in operator.keys]
        select.order_by = [
            each
            for key, term in zip(operator.keys, terms, strict=True)
            for each in render_order(term, select, descending=key.descending)
        ]
        select.order_mark = render_order_mark(terms)
        return select

    def _compile_page(self, operator: Skip | Limit, outer: Select | None) -> Select:
        select = self.compile(operator.source, outer)
        if select.is_inner:
            raise CannotRun("A page inside a subquery.")
        count = self._bind_count(operator.count)
        if isinstance(operator, Skip):
            if select.skip is not None or select.limit is not None:
                select = self._wrap_in_order(select)
            select.skip = count
        else:
            if select.limit is not None:
                select = self._wrap_in_order(select)
            select.limit = count
        return select

    def _wrap_in_order(self, select: Select) -> Select:
        if select.order_by:
            raise CannotRun("A page of a page in order.")
        return select.build_wrapped()

    def _bind_count(self, count: Expression) -> str:
        match count:
            case Literal(value=value):
                return self._statement.bindings.bind(Source(None, value), render_count)
            case Parameter(name=name):
                return self._statement.bindings.bind(Source(name), render_count)
            case _:
                raise CannotRun("SKIP or LIMIT by a computed number.")

    # --- subplans -------------------------------------------------------------------------------

    def _compile_subplan(self, subplan: Subplan, outer: Select) -> Term:
        if subplan.kind is not SubplanKind.EXISTS:
            raise CannotRun("A count or a list of a correlated subquery.")
        select = self.compile(subplan.plan, outer)
        return Term(k.BOOLEAN, f"EXISTS {{ {select.root.render()} }}")


def _find_scalar_kinds(values: Sequence[Value]) -> int:
    """Return the kinds of these values; values that are no SPARQL scalars are left out."""
    kinds = 0
    for value in values:
        kinds |= (k.find_kind(value) or 0) & k.SCALAR
    return kinds


def _drop_absent(select: Select, match: Match) -> Select:
    """Return the SELECT without the rows in which a node that the match starts from is absent."""
    absent = [
        (name, term)
        for name, term in select.scope.items()
        if any(node.variable == name for node in match.pattern.nodes)
        if term.kinds & k.NULL and term.kinds & k.ENTITIES
    ]
    if not absent:
        return select
    for name, term in absent:
        select.root.filters.append(render_bound(term))
        select.scope[name] = replace(term, kinds=term.kinds & ~k.NULL)
    return select.build_wrapped()


def _build_nullable(made: Composite, select: Select) -> Composite:
    """Build the path of an optional match, whose parts may be absent."""
    return replace(made, parts=tuple((name, select.scope[name]) for name, _ in made.parts))
