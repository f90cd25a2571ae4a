"""Checks clauses and whole queries, passing the scope of each clause to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from twinframe.query.algebra import SubplanKind
from twinframe.query.cypher import ast
from twinframe.query.cypher import static_types as t
from twinframe.query.cypher.scope.aggregation import has_aggregate, is_group_reference
from twinframe.query.cypher.scope.bindings import Scope
from twinframe.query.cypher.scope.columns import ComputedColumns, find_ungrouped
from twinframe.query.cypher.scope.expressions import Aggregation
from twinframe.query.cypher.scope.writing import WritingChecker
from twinframe.query.cypher.static_types import UNKNOWN, Kind, StaticType

if TYPE_CHECKING:
    from twinframe.query.spans import Span

_MOST_COMPARISONS = 200_000
"""PERF: half a microsecond each; real queries need a few hundred."""


class ClauseChecker(WritingChecker):
    """Walks clauses in order; `scope` is always that of the current position."""

    _inside_subquery = False
    _inside_call = False

    def check_query(
        self, query: ast.Query, importable: Scope | None = None
    ) -> dict[str, StaticType]:
        """Check all parts; return the types of the columns.

        With `importable`, a first WITH of bare names imports variables from there.
        """
        outer = self.scope
        merged: dict[str, StaticType] = {}
        for index, part in enumerate(query.parts):
            self.scope = Scope(outer=outer.outer)
            if importable is not None:
                self._take_imports(part, importable)
            columns = self._check_single_query(part)
            outer.captured.update(self.scope.captured)
            if index and set(merged) != set(columns):
                raise self.error(
                    part.span,
                    "DifferentColumnsInUnion",
                    "all parts of a UNION have the same columns; "
                    f"these are {_render_names(merged)} and {_render_names(columns)}",
                )
            merged = {
                name: kind if merged.get(name, kind) == kind else t.ANY
                for name, kind in columns.items()
            }
        self.scope = outer
        return merged

    def _check_single_query(self, query: ast.SingleQuery) -> dict[str, StaticType]:
        seen: list[tuple[ast.Projection, Scope]] = []
        columns: dict[str, StaticType] = {}
        for clause in query.clauses:
            columns = {}
            match clause:
                case ast.Match():
                    self._check_match(clause)
                case ast.Unwind():
                    self._check_unwind(clause)
                case ast.CallSubquery():
                    self._check_call_subquery(clause)
                case ast.Projection():
                    before = self.scope
                    self._check_projection(clause)
                    seen.append((clause, before))
                    columns = self.scope.types
                case ast.CallProcedure():
                    columns = self.check_procedure_call(clause)
                case ast.Create():
                    self.check_create(clause)
                case ast.Merge():
                    self.check_merge(clause)
                case ast.Set():
                    self.check_set_items(clause.items)
                case ast.Delete():
                    self.check_delete(clause)
                case _:
                    assert_never(clause)
        self._note_carried(seen)
        return columns

    def _note_carried(self, seen: list[tuple[ast.Projection, Scope]]) -> None:
        """Record in each projection which variables of an enclosing query are needed after it."""
        captured = dict(self.scope.captured)
        for projection, before in reversed(seen):
            names = {item.name for item in projection.columns}
            projection.carried = [name for name in captured if name not in names]
            captured = {**before.captured, **captured}
        self.scope.captured = captured

    # --- clauses

    def _check_match(self, clause: ast.Match) -> None:
        self.declare_pattern(clause.parts)
        if clause.where is not None:
            self.check_predicate(clause.where)

    def _check_unwind(self, clause: ast.Unwind) -> None:
        found = self.check(clause.expression)
        element = (found.element or t.ANY) if found.kind is Kind.LIST else t.ANY
        self._declare_new(clause.variable.name, element, clause.variable.span)

    def _declare_new(self, name: str, kind: StaticType, span: Span) -> None:
        if self.scope.lookup(name) is not None:
            raise self.error(span, "VariableAlreadyBound", f"the variable '{name}' is taken")
        self.scope.declare(name, kind)

    # --- WITH and RETURN

    def _check_projection(self, clause: ast.Projection) -> None:
        before = self.scope
        clause.columns = [*self._expand_star(clause), *clause.items]
        types = self._check_items(clause)
        after = Scope(types, outer=before.outer)
        # NOTE: ORDER BY and the WHERE of a WITH see the columns and, unless rows were merged, the
        # earlier variables that no column hides.
        merged = clause.aggregating or clause.distinct
        if clause.order or clause.where is not None:
            self._check_after_columns(clause, before, after, merged=merged)
        self._check_names(clause)
        self.scope = after
        for count, name in ((clause.skip, "SKIP"), (clause.limit, "LIMIT")):
            if count is not None:
                self._check_row_count(count, name)

    def _expand_star(self, clause: ast.Projection) -> list[ast.Item]:
        if not clause.star:
            return []
        names = list(self.scope.types)
        if clause.final and not names and not self._inside_subquery:
            raise self.error(
                clause.span, "NoVariablesInScope", "RETURN * needs at least one variable to return"
            )
        return [
            ast.Item(ast.Variable(name, clause.span), name, aliased=True, span=clause.span)
            for name in names
        ]

    def _check_items(self, clause: ast.Projection) -> dict[str, StaticType]:
        types: dict[str, StaticType] = {}
        self.aggregation = Aggregation.ALLOWED
        seen_before = self.aggregates_seen
        for item in clause.columns:
            kind = self.check(item.expression)
            if item.name in types:
                raise self.error(
                    item.span, "ColumnNameConflict", f"two columns have the name '{item.name}'"
                )
            types[item.name] = kind
        self.aggregation = Aggregation.FORBIDDEN
        clause.aggregating = self.aggregates_seen > seen_before
        if clause.aggregating:
            self._check_groups(clause)
        return types

    def _check_names(self, clause: ast.Projection) -> None:
        # NOTE: last, since the kit wants ORDER BY's errors about unnamed columns reported first.
        if clause.final and not self._inside_call:
            return
        for item in clause.items:
            if not item.aliased:
                raise self.error(
                    item.span,
                    "NoExpressionAlias",
                    f"'{item.name}' needs a name here: {item.name} AS ...",
                )

    def _check_groups(self, clause: ast.Projection) -> None:
        groups = ComputedColumns(
            (item.expression, item.name)
            for item in clause.columns
            if is_group_reference(item.expression)
        )
        taken = {
            item.name
            for item in clause.columns
            if isinstance(item.expression, ast.Variable) and item.expression.name == item.name
        }
        for item in clause.columns:
            self._refuse_ungrouped(item.expression, groups, taken)

    def _refuse_ungrouped(
        self, node: ast.Expression, groups: ComputedColumns, kept: set[str]
    ) -> None:
        found = find_ungrouped(node, groups, kept) if has_aggregate(node) else None
        if found is not None:
            text = self.source.text[found.span.start : found.span.end]
            raise self.error(
                found.span,
                "AmbiguousAggregationExpression",
                f"'{text}' stands beside an aggregate but is no column of its own; "
                f"project it first: WITH {text} AS ...",
            )

    def _check_sorted_groups(self, clause: ast.Projection) -> None:
        """SPEC: around an aggregate, ORDER BY may use what the items may use, and the columns."""
        references: list[tuple[ast.Expression, str]] = [
            (ast.Variable(item.name, item.span), item.name) for item in clause.columns
        ]
        references += [
            (item.expression, item.name)
            for item in clause.columns
            if is_group_reference(item.expression)
        ]
        groups, names = ComputedColumns(references), {item.name for item in clause.columns}
        for key in clause.order:
            self._refuse_ungrouped(key.expression, groups, names)

    def _check_after_columns(
        self, clause: ast.Projection, before: Scope, after: Scope, *, merged: bool
    ) -> None:
        if merged:
            self.scope = after
        else:
            self.scope = Scope(after.types, outer=before)
        self.projected = ComputedColumns.of_items(clause.columns)
        for key in clause.order:
            self.check(key.expression)
            if self.projected.comparisons > _MOST_COMPARISONS:
                raise self.error(
                    key.expression.span, "TooComplex", "too many columns and sort keys to compare"
                )
        if clause.where is not None:
            self.check_predicate(clause.where)
        self.projected = ComputedColumns()
        if clause.aggregating:
            self._check_sorted_groups(clause)
        if not merged:
            clause.hidden = [name for name in self.scope.captured if name not in after.types]

    def _check_row_count(self, node: ast.Expression, name: str) -> None:
        before, self.scope = self.scope, Scope(constant=True)
        kind = self.check(node).kind
        self.scope = before
        if kind not in UNKNOWN | {Kind.INTEGER}:
            raise self.error(
                node.span, "InvalidArgumentType", f"{name} needs an integer, this is {kind.value}"
            )
        if isinstance(node, ast.Literal) and isinstance(node.value, int) and node.value < 0:
            raise self.error(
                node.span,
                "NegativeIntegerArgument",
                f"{name} needs an integer that is not negative",
            )

    # --- subqueries

    def check_subquery(self, node: ast.Subquery) -> None:
        """Check the query in the braces; it sees everything that is visible around it."""
        state = (self.scope, self.aggregation, self.projected, self._inside_subquery)
        inside_call, self._inside_call = self._inside_call, False
        self.scope, self.aggregation = Scope(outer=self.scope), Aggregation.FORBIDDEN
        self.projected, self._inside_subquery = ComputedColumns(), True
        columns = self.check_query(node.query)
        node.outer = tuple(self.scope.captured)
        self.scope, self.aggregation, self.projected, self._inside_subquery = state
        self._inside_call = inside_call
        if node.kind is SubplanKind.COLLECT and len(columns) != 1:
            raise self.error(
                node.span, "InvalidArgumentType", "COLLECT { ... } returns exactly one column"
            )

    def _check_call_subquery(self, clause: ast.CallSubquery) -> None:
        if clause.batch is not None:
            self._check_row_count(clause.batch, "OF")
        outside, inside_call = self.scope, self._inside_call
        self._inside_call = True
        if clause.imports is None:
            self.scope = Scope()
            columns = self.check_query(clause.query, importable=outside)
        else:
            visible = dict(outside.types) if clause.import_all else {}
            for variable in clause.imports:
                visible[variable.name] = self.check(variable)
            self.scope = Scope(outer=Scope(visible))
            columns = self.check_query(clause.query)
            clause.outer = tuple(self.scope.captured)
        self.scope, self._inside_call = outside, inside_call
        for name, kind in columns.items():
            self._declare_new(name, kind, clause.span)
        if clause.status is not None:
            self._declare_new(clause.status.name, t.MAP, clause.status.span)

    def _take_imports(self, part: ast.SingleQuery, outside: Scope) -> None:
        """Remove the importing WITH of `CALL { WITH a, b ... }` from the clauses and import its
        variables.
        """
        first = part.clauses[0]
        if not isinstance(first, ast.Projection) or not _is_importing(first):
            return
        names = list(outside.types) if first.star else []
        for item in first.items:
            if outside.lookup(item.name) is None:
                raise self.error(
                    item.span, "UndefinedVariable", f"the variable '{item.name}' is not defined"
                )
            names.append(item.name)
        for name in names:
            self.scope.declare(name, outside.lookup(name) or t.ANY)
        part.imports = tuple(names)
        part.clauses = part.clauses[1:]


def _is_importing(clause: ast.Projection) -> bool:
    plain = all(
        isinstance(item.expression, ast.Variable) and item.expression.name == item.name
        for item in clause.items
    )
    extras = clause.order or clause.skip or clause.limit or clause.where or clause.distinct
    return not clause.final and plain and not extras


def _render_names(columns: dict[str, StaticType]) -> str:
    return ", ".join(columns) or "none"
