"""Parses whole queries of the vendor's language to the syntax tree.

SPEC: the vendor publishes no grammar; this one follows its documentation (SELECT, FROM, JOIN,
MATCH, WHERE, operators, functions, reserved words) and recorded answers of its service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.adt import ast
from twinframe.query.adt.expressions import ConditionParser
from twinframe.query.adt.lexer import read_tokens
from twinframe.query.algebra import AggregateKind, Direction, Length
from twinframe.query.cypher.size import take_tokens
from twinframe.query.cypher.tokens import NAMES, TokenKind
from twinframe.query.spans import Span

if TYPE_CHECKING:
    from twinframe.query.errors import Source
    from twinframe.query.options import FrontEndOptions

_AGGREGATES = {
    "COUNT": AggregateKind.COUNT,
    "SUM": AggregateKind.SUM,
    "AVG": AggregateKind.AVG,
    "MIN": AggregateKind.MIN,
    "MAX": AggregateKind.MAX,
}
_CLAUSES = frozenset(["FROM", "JOIN", "MATCH", "WHERE", "GROUP", "ORDER", "AS", "RELATED"])


def parse_adt(source: Source, options: FrontEndOptions) -> ast.Query:
    """Parse a query.

    Raises QueryInvalid with the position of the first token that does not fit the grammar.
    """
    tokens = take_tokens(source, read_tokens(source), options)
    return AdtParser(source, tokens, options).parse_query()


class AdtParser(ConditionParser):
    """Reads `SELECT ... FROM ... [JOIN | MATCH] [WHERE] [GROUP BY] [ORDER BY]`."""

    def parse_query(self) -> ast.Query:
        """The query, up to the end of the text."""
        prefix = self.accept_prefix()
        select = self.token.span
        self.take("SELECT")
        distinct = self._accept_extension("DISTINCT")
        top = self._parse_top() if self.token.key == "TOP" and self.peek().key == "(" else None
        items = self._parse_items()
        self.take("FROM")
        collection = self._parse_collection()
        alias = self._parse_alias()
        joins = self._parse_joins()
        match = self._parse_match() if self.accept("MATCH") else None
        if self.token.key == "MATCH" and match is not None:
            raise self.error("InvalidClauseComposition", "only one MATCH is allowed in a query")
        where = self.parse_condition() if self.accept("WHERE") else None
        groups = self._parse_groups()
        order = self._parse_order()
        if self.token.kind is not TokenKind.END:
            raise self.mismatch("<EOF>")
        return ast.Query(
            top, distinct, items, collection, alias, joins, match, where, groups, order, prefix,
            select,
        )  # fmt: skip

    def _accept_extension(self, *words: str) -> bool:
        """Consume words that only our extension of the language has."""
        if not self.at(*words):
            return False
        if not self.options.vendor_extensions:
            raise self.error(
                "UnexpectedSyntax",
                f"{' '.join(words)} is no part of this language; the service allows it when "
                "Query__VendorExtensions is on",
            )
        return self.accept(*words)

    # --- SELECT

    def _parse_top(self) -> int:
        self.take("TOP")
        self.take("(")
        token = self.token
        if token.kind is not TokenKind.INTEGER:
            raise self.mismatch("a whole number")
        self.advance()
        self.take(")")
        return int(token.value)

    def _parse_items(self) -> list[ast.Item]:
        if self.accept("*") or self.token.key == "FROM":
            return []
        items = [self._parse_item()]
        while self.accept(","):
            items.append(self._parse_item())
        return items

    def _parse_item(self) -> ast.Item:
        start = self.token.start
        value = self._parse_value()
        alias = self.take_name("an alias") if self.accept("AS") else None
        return ast.Item(value, alias, self.span_from(start))

    def _parse_value(self) -> ast.Path | ast.Aggregate:
        kind = _AGGREGATES.get(self.token.key)
        if kind is None or self.peek().key != "(":
            return self.parse_path()
        token = self.advance()
        self.take("(")
        if kind is AggregateKind.COUNT and self.accept(")"):
            return ast.Aggregate(
                AggregateKind.COUNT_ROWS, None, distinct=False, span=self.span_from(token.start)
            )
        if not self.options.vendor_extensions:
            raise self.error(
                "UnexpectedSyntax",
                f"{token.value}(path) is no part of this language; the service allows it when "
                "Query__VendorExtensions is on",
                token.span,
            )
        distinct = self.accept("DISTINCT")
        path = self.parse_path()
        self.take(")")
        return ast.Aggregate(kind, path, distinct, self.span_from(token.start))

    # --- FROM

    def _parse_collection(self) -> ast.Collection:
        for collection in ast.Collection:
            if self.accept(collection.value):
                return collection
        raise self.mismatch(*(collection.value for collection in ast.Collection))

    def _parse_alias(self) -> str | None:
        if self.accept("AS"):
            return self.take_name("an alias")
        token = self.token
        if token.kind is TokenKind.QUOTED or (
            token.kind is TokenKind.NAME and token.key not in _CLAUSES
        ):
            return self.advance().name
        return None

    def _parse_joins(self) -> list[ast.Join]:
        joins: list[ast.Join] = []
        while self.token.key == "JOIN":
            start = self.advance().start
            target = self.take_name("an alias")
            self.take("RELATED")
            source = self.take_name("an alias")
            self.take(".")
            relationship = self.take_name("the name of a relationship")
            alias = self._parse_alias()
            joins.append(ast.Join(target, source, relationship, alias, self.span_from(start)))
            if len(joins) * 2 > self.options.max_height:
                self.refuse_height()
        return joins

    # --- MATCH

    def _parse_match(self) -> ast.Match:
        start = self.token.start
        twins = [self._parse_twin()]
        edges: list[ast.Edge] = []
        while self.token.key in {"-", "<"}:
            if len(edges) * 2 > self.options.max_elements:
                raise self.refuse_elements()
            edges.append(self._parse_edge())
            twins.append(self._parse_twin())
        return ast.Match(twins, edges, self.span_from(start))

    def _parse_twin(self) -> str | None:
        self.take("(")
        alias = None if self.token.key == ")" else self.take_name("an alias")
        self.take(")")
        return alias

    def _parse_edge(self) -> ast.Edge:
        start = self.token.start
        incoming = self.accept("<")
        self.take("-")
        edge = ast.Edge(None, (), Direction.BOTH, None, Span(start, start))
        if self.accept("["):
            self._parse_edge_detail(edge)
            self.take("]")
        self.take("-")
        outgoing = self.accept(">")
        if incoming and outgoing:
            raise self.error("UnexpectedSyntax", "a relationship has one direction, or none: -[]-")
        if incoming or outgoing:
            edge.direction = Direction.INCOMING if incoming else Direction.OUTGOING
        edge.span = self.span_from(start)
        return edge

    def _parse_edge_detail(self, edge: ast.Edge) -> None:
        if self.token.kind in NAMES:
            edge.alias = self.advance().name
        if self.accept(":"):
            names = [self.take_name("the name of a relationship")]
            while self.accept("|"):
                names.append(self.take_name("the name of a relationship"))
            edge.names = tuple(names)
        start = self.token.start
        if not self.accept("*"):
            return
        edge.length = self._parse_hops(start)
        if edge.alias is not None:
            raise self.error(
                "InvalidRelationshipPattern",
                f"the relationship alias '{edge.alias}' is not allowed with a number of hops",
            )

    def _parse_hops(self, start: int) -> Length:
        """SPEC: `*n`, `*n..m` (without n itself when `vendor_hops_exclusive`), `*..m`."""
        lower = self._parse_bound() if self.token.key != ".." else None
        if not self.accept(".."):
            minimum = maximum = 0 if lower is None else lower
        else:
            maximum = self._parse_bound()
            exclusive = self.options.vendor_hops_exclusive
            minimum = 1 if lower is None else lower + 1 if exclusive else lower
        span = self.span_from(start)
        if maximum > self.options.max_hops:
            raise self.error(
                "InvalidRelationshipPattern",
                f"at most {self.options.max_hops} hops are allowed (Query__MaxHops)",
                span,
            )
        if minimum > maximum or maximum < 1:
            raise self.error(
                "InvalidRelationshipPattern",
                "no number of hops is left between these bounds (the lower one is left out)"
                if self.options.vendor_hops_exclusive
                else "no number of hops is left between these bounds",
                span,
            )
        return Length(minimum, maximum)

    def _parse_bound(self) -> int:
        token = self.token
        if token.kind is not TokenKind.INTEGER:
            raise self.mismatch("a number of hops")
        self.advance()
        return int(token.value)

    # --- extensions

    def _parse_groups(self) -> list[ast.Path]:
        if not self._accept_extension("GROUP", "BY"):
            return []
        groups = [self.parse_path()]
        while self.accept(","):
            groups.append(self.parse_path())
        return groups

    def _parse_order(self) -> list[ast.SortItem]:
        if not self._accept_extension("ORDER", "BY"):
            return []
        found: list[ast.SortItem] = []
        while True:
            value = self._parse_value()
            descending = self.accept("DESC")
            if not descending:
                self.accept("ASC")
            found.append(ast.SortItem(value, descending))
            if not self.accept(","):
                return found
