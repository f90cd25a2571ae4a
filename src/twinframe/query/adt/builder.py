"""Translates the syntax tree of the vendor's language to the algebra; `conditions` translates
WHERE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query import algebra as al
from twinframe.query.adt import ast
from twinframe.query.adt.conditions import ConditionBuilder
from twinframe.query.adt.names import Names
from twinframe.query.spans import Span

if TYPE_CHECKING:
    from twinframe.query.errors import Source

_COUNT_COLUMN = "COUNT"


def build_adt_query(source: Source, query: ast.Query) -> al.Query:
    """Build the algebra of a whole query.

    Raises QueryInvalid for unknown names, duplicate columns, and combinations that the language
    does not allow.
    """
    return _Builder(source, query).build()


class _Builder:
    def __init__(self, source: Source, query: ast.Query) -> None:
        self._source = source
        self._query = query
        self._names = Names(source)
        self._generated = 0

    def build(self) -> al.Query:
        query = self._query
        root = self._build_source()
        if not query.items:
            return self._build_star(root)
        aggregating = bool(query.groups) or any(
            isinstance(item.value, ast.Aggregate) for item in query.items
        )
        columns = self._name_columns()
        if aggregating:
            root = self._build_aggregate(root, columns)
        elif query.distinct:
            root = self._build_distinct(root, columns)
        else:
            root = self._build_plain(root, columns)
        return al.Query(self._limit(root), tuple(columns), omit_null=True)

    def _generate(self, stem: str) -> str:
        self._generated += 1
        return f" {stem}{self._generated}"

    def _limit(self, root: al.Operator) -> al.Operator:
        top = self._query.top
        return root if top is None else al.Limit(root, al.Literal(top))

    # --- FROM, JOIN, MATCH, WHERE

    def _build_source(self) -> al.Operator:
        query = self._query
        if query.collection is ast.Collection.RELATIONSHIPS:
            if query.joins or query.match is not None:
                what = "JOIN" if query.joins else "MATCH"
                raise self._fail(query.select, f"{what} is not supported on RELATIONSHIPS")
            root = self._build_relationships()
        elif query.match is not None:
            root = self._build_match(query.match)
        else:
            root = self._build_twins()
        if query.where is None:
            return root
        predicate = ConditionBuilder(self._source, self._names).build(query.where)
        return al.Match(root.source, root.pattern, predicate)

    def _fail(self, span: Span, message: str) -> Exception:
        return self._source.error(span, "InvalidClauseComposition", message)

    def _build_relationships(self) -> al.Match:
        alias = self._query.alias or self._generate("relationship")
        self._names.declare(alias, al.RelationshipPattern, self._query.select)
        self._names.default = alias
        left, right = self._generate("source"), self._generate("target")
        crossed = al.RelationshipPattern(alias, left, right, al.Direction.OUTGOING)
        nodes = (al.NodePattern(left), al.NodePattern(right))
        return al.Match(al.Unit(), al.GraphPattern(nodes, (crossed,)))

    def _build_twins(self) -> al.Match:
        query = self._query
        if query.joins and query.alias is None:
            raise self._fail(
                query.joins[0].span, "JOIN needs an alias: FROM DIGITALTWINS T JOIN ..."
            )
        alias = query.alias or self._generate("twin")
        self._names.declare(alias, al.NodePattern, query.select)
        root = al.Match(al.Unit(), al.GraphPattern((al.NodePattern(alias),)))
        if not query.joins:
            self._names.default = alias
        # NOTE: an operator for each JOIN: relationships are unique within one pattern only, and the
        # vendor's joins require no uniqueness.
        for join in query.joins:
            root = al.Match(root, self._build_join(join))
        return root

    def _build_join(self, join: ast.Join) -> al.GraphPattern:
        self._names.require(join.source, al.NodePattern, join.span)
        self._names.declare(join.target, al.NodePattern, join.span)
        alias = join.alias or self._generate("relationship")
        if join.alias is None:
            self._names.declare_joined(join.relationship, alias, join.span)
        else:
            self._names.declare(alias, al.RelationshipPattern, join.span)
        crossed = al.RelationshipPattern(
            alias, join.source, join.target, al.Direction.OUTGOING, (join.relationship,),
            span=join.span,
        )  # fmt: skip
        return al.GraphPattern(
            (al.NodePattern(join.source), al.NodePattern(join.target)), (crossed,)
        )

    def _build_match(self, match: ast.Match) -> al.Match:
        query = self._query
        if query.joins:
            raise self._fail(match.span, "JOIN and MATCH cannot be used in one query")
        if query.alias is not None and query.alias not in match.twins:
            raise self._fail(match.span, f"the alias '{query.alias}' does not occur in MATCH")
        variables = [twin or self._generate("twin") for twin in match.twins]
        nodes: dict[str, al.NodePattern] = {}
        for name in variables:
            if name not in nodes:
                self._names.declare(name, al.NodePattern, match.span)
                nodes[name] = al.NodePattern(name)
        crossed: list[al.RelationshipPattern] = []
        for edge, left, right in zip(match.edges, variables, variables[1:], strict=False):
            alias = edge.alias or self._generate("relationship")
            self._names.declare(alias, al.RelationshipPattern, edge.span)
            crossed.append(
                al.RelationshipPattern(
                    alias, left, right, edge.direction, edge.names, edge.length, span=edge.span
                )
            )
        return al.Match(al.Unit(), al.GraphPattern(tuple(nodes.values()), tuple(crossed)))

    # --- columns

    def _build_star(self, root: al.Operator) -> al.Query:
        query = self._query
        if query.joins:
            raise self._fail(
                query.select, "SELECT * is not supported with JOIN; name what to select"
            )
        if query.groups:
            raise self._fail(query.select, "SELECT * is not supported with GROUP BY")
        if not query.distinct:
            root = self._sort(root, self._sort_keys({}))
        names = self._names.named() if query.match is not None else [self._names.default or ""]
        if not names:
            raise self._fail(query.select, "SELECT * with MATCH needs at least one alias")
        variables = names
        if query.match is None and query.alias is None:  # a variable that no client should see
            names = [query.collection.value]
        items = zip(names, map(al.Variable, variables), strict=True)
        root = al.Project(root, tuple(items))
        if query.distinct:
            if query.match is None:
                self._names.default = names[0]  # its name from here on
            root = self._sort(al.Distinct(root), self._sort_keys({}))
        shape = al.ResultShape.OBJECT if query.match is not None else al.ResultShape.DOCUMENT
        return al.Query(self._limit(root), tuple(names), shape, omit_null=True)

    def _name_columns(self) -> dict[str, ast.Item]:
        """SPEC: a column is named by its alias, else by the last name of its path."""
        columns: dict[str, ast.Item] = {}
        for item in self._query.items:
            value = item.value
            name = item.alias
            if name is None:
                name = value.names[-1] if isinstance(value, ast.Path) else _name_aggregate(value)
            if name in columns:
                raise self._source.error(
                    item.span,
                    "ColumnNameConflict",
                    f"two columns are called '{name}'; name one of them with AS",
                )
            columns[name] = item
        return columns

    def _build_plain(self, root: al.Operator, columns: dict[str, ast.Item]) -> al.Operator:
        items = {name: self._resolve(item.value) for name, item in columns.items()}
        root = self._sort(root, self._sort_keys(items))
        return al.Project(root, tuple(items.items()))

    def _build_distinct(self, root: al.Operator, columns: dict[str, ast.Item]) -> al.Operator:
        items = {name: self._resolve(item.value) for name, item in columns.items()}
        root = al.Distinct(al.Project(root, tuple(items.items())))
        computed = {expression: name for name, expression in items.items()}
        keys = [
            al.SortKey(self._computed(key, columns, computed), key.descending)
            for key in self._query.order
        ]
        return self._sort(root, keys)

    def _resolve(self, value: ast.Path | ast.Aggregate) -> al.Expression:
        if isinstance(value, ast.Aggregate):
            raise self._source.error(
                value.span, "InvalidAggregation", f"{value.kind.name} can only be selected"
            )
        return self._names.resolve(value)

    # --- order and groups

    def _sort(self, root: al.Operator, keys: list[al.SortKey]) -> al.Operator:
        return al.Sort(root, tuple(keys)) if keys else root

    def _sort_keys(self, items: dict[str, al.Expression]) -> list[al.SortKey]:
        """Build keys over the rows before the projection; the name of a column stands for its
        value.
        """
        keys: list[al.SortKey] = []
        for key in self._query.order:
            value = key.value
            column = value.names[0] if isinstance(value, ast.Path) and len(value.names) == 1 else ""
            expression = items.get(column) or self._resolve(value)
            keys.append(al.SortKey(expression, key.descending))
        return keys

    def _computed(
        self,
        key: ast.SortItem,
        columns: dict[str, ast.Item],
        computed: dict[al.Expression, str],
    ) -> al.Expression:
        """Build a sort key over merged rows: it must be a column, or the expression of one."""
        value = key.value
        if isinstance(value, ast.Path):
            if len(value.names) == 1 and value.names[0] in columns:
                return al.Variable(value.names[0], value.span)
            name = computed.get(self._names.resolve(value))
        else:
            name = next((name for name, item in columns.items() if item.value == value), None)
        if name is None:
            raise self._source.error(
                value.span, "UndefinedVariable", "ORDER BY can only use what is selected here"
            )
        return al.Variable(name, value.span)

    def _build_aggregate(self, root: al.Operator, columns: dict[str, ast.Item]) -> al.Operator:
        groups = [self._names.resolve(path) for path in self._query.groups]
        named: dict[al.Expression, str] = {}
        calls: list[tuple[str, al.AggregateCall]] = []
        for name, item in columns.items():
            if isinstance(item.value, ast.Aggregate):
                calls.append((name, self._build_call(item.value)))
                continue
            expression = self._names.resolve(item.value)
            if expression not in groups:
                raise self._source.error(
                    item.span,
                    "AmbiguousAggregationExpression",
                    f"'{name}' stands beside an aggregate and must be in GROUP BY",
                )
            named[expression] = name
        for group in groups:
            named.setdefault(group, self._generate("group"))
        keys = {name: group for group, name in named.items()}
        for name, item in columns.items():
            if isinstance(item.value, ast.Path):
                keys[name] = self._names.resolve(item.value)
        root = al.Aggregate(root, tuple(keys.items()), tuple(calls))
        sort_keys = [
            al.SortKey(self._computed(key, columns, named), key.descending)
            for key in self._query.order
        ]
        root = self._sort(root, sort_keys)
        if [*keys, *dict(calls)] != list(columns):
            root = al.Project(root, tuple((name, al.Variable(name)) for name in columns))
        return al.Distinct(root) if self._query.distinct else root

    def _build_call(self, value: ast.Aggregate) -> al.AggregateCall:
        if value.path is None:
            return al.AggregateCall(value.kind, span=value.span)
        argument = self._names.resolve(value.path)
        return al.AggregateCall(value.kind, (argument,), value.distinct, value.span)


def _name_aggregate(value: ast.Aggregate) -> str:
    return _COUNT_COLUMN if value.path is None else value.kind.name
