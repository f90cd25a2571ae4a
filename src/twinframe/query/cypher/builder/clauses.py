"""Translates clauses and whole queries of the syntax tree to operators of the algebra."""

from __future__ import annotations

from typing import assert_never

from twinframe.query import algebra as al
from twinframe.query.cypher import ast
from twinframe.query.cypher.builder.patterns import PatternBuilder
from twinframe.query.cypher.scope.aggregation import has_aggregate, is_group_reference
from twinframe.query.cypher.scope.columns import ComputedColumns


class ClauseBuilder(PatternBuilder):
    """Translates whole queries.

    `_outer` are the variables that the subquery being built reads from outside.
    """

    _outer: tuple[str, ...] = ()

    def build_query(self, query: ast.Query) -> al.Query:
        """The algebra of a whole query."""
        root = self._build_union(query, al.Unit())
        last = query.parts[0].clauses[-1]
        assert isinstance(last, ast.Projection)  # noqa: S101 -- the parser lets no other end a query
        return al.Query(root, tuple(item.name for item in last.columns))

    def _build_union(self, query: ast.Query, leaf: al.Operator) -> al.Operator:
        sides = [self._build_single_query(part, leaf) for part in query.parts]
        return _join_union(sides, all_rows=query.all)

    def _build_single_query(self, query: ast.SingleQuery, leaf: al.Operator) -> al.Operator:
        root = al.Argument(query.imports) if query.imports else leaf
        for clause in query.clauses:
            assert not isinstance(clause, (*ast.WRITING, ast.CallProcedure))  # noqa: S101 -- those stand in statements
            root = self._build_clause(clause, root)
        return root

    def _build_clause(self, clause: ast.ReadingClause, source: al.Operator) -> al.Operator:
        match clause:
            case ast.Match():
                return self.build_match(
                    source, clause.parts, clause.where, optional=clause.optional
                )
            case ast.Projection():
                return self._build_projection(clause, source)
            case ast.Unwind():
                return al.Unwind(source, self.build(clause.expression), clause.variable.name)
            case ast.CallSubquery():
                outer, self._outer = self._outer, clause.outer
                plan = self._build_union(clause.query, al.Argument(clause.outer))
                self._outer = outer
                return al.Apply(source, plan)
            case _:
                assert_never(clause)

    # --- WITH and RETURN

    def _build_projection(self, clause: ast.Projection, source: al.Operator) -> al.Operator:
        carried = [(name, al.Variable(name)) for name in clause.carried]
        if clause.aggregating:
            root = self._build_aggregate(clause, source)
        else:
            items = [(item.name, self.build(item.expression)) for item in clause.columns]
            names = {name for name, _ in (*items, *carried)}
            hidden = [(name, al.Variable(name)) for name in clause.hidden if name not in names]
            root = al.Project(source, (*items, *carried, *hidden))
        if clause.distinct:
            root = al.Distinct(root)
        if clause.order or clause.where is not None:
            self.replaced = ComputedColumns.of_items(clause.columns)
        root = self._build_order(clause, root)
        self.replaced = ComputedColumns()
        if clause.hidden:
            kept = [item.name for item in clause.columns] + clause.carried
            root = al.Project(root, tuple((name, al.Variable(name)) for name in kept))
        return root

    def _build_order(self, clause: ast.Projection, root: al.Operator) -> al.Operator:
        if clause.order:
            keys = [al.SortKey(self.build(key.expression), key.descending) for key in clause.order]
            root = al.Sort(root, tuple(keys))
        # NOTE: a row count depends on no row, so no part of it may be replaced by a column.
        replaced, self.replaced = self.replaced, ComputedColumns()
        if clause.skip is not None:
            root = al.Skip(root, self.build(clause.skip))
        if clause.limit is not None:
            root = al.Limit(root, self.build(clause.limit))
        self.replaced = replaced
        if clause.where is not None:
            root = al.Filter(root, self.build(clause.where))
        return root

    def _build_aggregate(self, clause: ast.Projection, source: al.Operator) -> al.Operator:
        """Build `Aggregate`, and above it a `Project` where a column is more than one aggregate."""
        keys: list[tuple[str, al.Expression]] = []
        groups: list[tuple[ast.Expression, str]] = []
        composed: list[ast.Item] = []
        for item in clause.columns:
            if has_aggregate(item.expression):
                composed.append(item)
            else:
                keys.append((item.name, self.build(item.expression)))
                if is_group_reference(item.expression):
                    groups.append((item.expression, item.name))
        aggregates: list[tuple[str, al.AggregateCall]] = []
        results = {item.name: self._build_around(item, groups, aggregates) for item in composed}
        renamed = tuple(_name_aggregates(results, aggregates))
        columns: list[tuple[str, al.Expression | None]] = [
            (item.name, results.get(item.name)) for item in clause.columns
        ]
        if clause.carried and not keys:
            return self._build_lone_group(clause, source, renamed, columns)
        keys += [(name, al.Variable(name)) for name in clause.carried]
        root: al.Operator = al.Aggregate(source, tuple(keys), renamed)
        wanted = [name for name, _ in columns] + clause.carried
        if [name for name, _ in (*keys, *renamed)] != wanted:
            columns += [(name, None) for name in clause.carried]
            items = [(name, found or al.Variable(name)) for name, found in columns]
            root = al.Project(root, tuple(items))
        return root

    def _build_lone_group(
        self,
        clause: ast.Projection,
        source: al.Operator,
        aggregates: tuple[tuple[str, al.AggregateCall], ...],
        columns: list[tuple[str, al.Expression | None]],
    ) -> al.Operator:
        """Build aggregates without keys, next to variables of the enclosing query.

        NOTE: those variables must not become keys: over no rows there is one group without keys and
        none with them. So the aggregates are computed apart, under names of their own.
        """
        unique = [
            (self.generate_name("column"), found or al.Variable(name)) for name, found in columns
        ]
        plan = al.Project(al.Aggregate(source, (), aggregates), tuple(unique))
        joined = al.Apply(al.Argument(self._outer), plan)
        results = [
            (name, al.Variable(inner))
            for (name, _), (inner, _) in zip(columns, unique, strict=True)
        ]
        carried = [(name, al.Variable(name)) for name in clause.carried]
        return al.Project(joined, (*results, *carried))

    def _build_around(
        self,
        item: ast.Item,
        groups: list[tuple[ast.Expression, str]],
        aggregates: list[tuple[str, al.AggregateCall]],
    ) -> al.Expression:
        """Build the expression around the aggregates of an item; these are added to
        `aggregates`.
        """
        self.aggregates, self.replaced = aggregates, ComputedColumns(groups)
        found = self.build(item.expression)
        self.aggregates, self.replaced = None, ComputedColumns()
        return found

    # --- subplans

    def build_subplan(
        self,
        node: ast.Subquery | ast.PatternExpression | ast.PatternComprehension | ast.ShortestPath,
    ) -> al.Expression:
        """Build a query or pattern inside an expression."""
        replaced, outer, aggregates = self.replaced, self._outer, self.aggregates
        self.replaced, self._outer, self.aggregates = ComputedColumns(), node.outer, None
        found = self._build_inner(node, al.Argument(node.outer))
        self.replaced, self._outer, self.aggregates = replaced, outer, aggregates
        return found

    def _build_inner(
        self,
        node: ast.Subquery | ast.PatternExpression | ast.PatternComprehension | ast.ShortestPath,
        leaf: al.Argument,
    ) -> al.Expression:
        match node:
            case ast.Subquery():
                plan = self._build_union(node.query, leaf)
                value = None
                if node.kind is al.SubplanKind.COLLECT:
                    last = node.query.parts[0].clauses[-1]
                    assert isinstance(last, ast.Projection)  # noqa: S101 -- COLLECT has RETURN
                    value = al.Variable(last.columns[0].name, node.span)
                return al.Subplan(node.kind, plan, value, node.span)
            case ast.PatternExpression(kind=al.SubplanKind.COLLECT):
                return self._build_paths(node, leaf)
            case ast.PatternExpression():
                match = self.build_match(leaf, [node.part], None)
                return al.Subplan(node.kind, match, None, node.span)
            case ast.PatternComprehension():
                match = self.build_match(leaf, [node.part], node.predicate)
                projection = self.build(node.projection)
                return al.Subplan(al.SubplanKind.COLLECT, match, projection, node.span)
            case ast.ShortestPath():
                found = self._build_paths(node, leaf)
                if node.part.kind is al.PathKind.ALL_SHORTEST:
                    return found
                return al.FunctionCall("head", (found,), node.span)
            case _:
                assert_never(node)

    def _build_paths(
        self, node: ast.PatternExpression | ast.ShortestPath, leaf: al.Argument
    ) -> al.Expression:
        """Build the list of the paths that match."""
        name = self.generate_name("path")
        part = node.part
        named = ast.PatternPart(name, part.kind, part.nodes, part.relationships, part.span)
        match = self.build_match(leaf, [named], None)
        value = al.Variable(name, node.span)
        return al.Subplan(al.SubplanKind.COLLECT, match, value, node.span)


def _join_union(sides: list[al.Operator], *, all_rows: bool) -> al.Operator:
    """Build a tree of least height: with and without duplicates, UNION is associative."""
    if len(sides) == 1:
        return sides[0]
    middle = (len(sides) + 1) // 2
    left = _join_union(sides[:middle], all_rows=all_rows)
    return al.Union(left, _join_union(sides[middle:], all_rows=all_rows), all_rows)


def _name_aggregates(
    results: dict[str, al.Expression], aggregates: list[tuple[str, al.AggregateCall]]
) -> list[tuple[str, al.AggregateCall]]:
    """Give aggregates that are whole columns the column's name, in `results` too."""
    names: dict[str, str] = {}
    for column, expression in results.items():
        if isinstance(expression, al.Variable) and expression.name not in names:
            names[expression.name] = column
            results[column] = al.Variable(column, expression.span)
    return [(names.get(name, name), call) for name, call in aggregates]
