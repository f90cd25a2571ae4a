"""Parses the clauses that write, and calls of procedures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.algebra import LabelAnd, LabelExpression, LabelName
from twinframe.query.cypher import ast
from twinframe.query.cypher.parser.patterns import PatternParser
from twinframe.query.cypher.tokens import TokenKind

if TYPE_CHECKING:
    from twinframe.errors import QueryInvalid


class WritingParser(PatternParser):
    """Parses CREATE, MERGE, SET, REMOVE, DELETE and CALL of a procedure."""

    def parse_create(self) -> ast.Create:
        """CREATE and its patterns."""
        start = self.advance().start
        self.takes_parameter = True
        parts = self.parse_pattern()
        self.takes_parameter = False
        return ast.Create(parts, self.span_from(start))

    def parse_merge(self) -> ast.Merge:
        """MERGE, its pattern and what it sets."""
        start = self.advance().start
        part = self.parse_pattern_part()
        height = self.height
        on_create: list[ast.SetItem] = []
        on_match: list[ast.SetItem] = []
        while self.accept("ON"):
            if self.accept("CREATE"):
                found = on_create
            elif self.accept("MATCH"):
                found = on_match
            else:
                raise self.unexpected("CREATE or MATCH after ON")
            self.expect("SET", "after ON CREATE or ON MATCH")
            found += self._parse_set_items()
            height = max(height, self.height)
        self.height = height
        return ast.Merge(part, on_create, on_match, self.span_from(start))

    def parse_set(self) -> ast.Set:
        """SET and its items."""
        start = self.advance().start
        return ast.Set(self._parse_set_items(), self.span_from(start))

    def parse_remove(self) -> ast.Set:
        """REMOVE and its items."""
        start = self.advance().start
        items: list[ast.SetItem] = []
        while True:
            target = self.parse_postfix()
            span = target.span
            if isinstance(target, ast.Property):
                items.append(ast.SetProperty(target, None, span))
            else:
                items.append(self._build_labels(target, removes=True))
            if not self.accept(","):
                return ast.Set(items, self.span_from(start))

    def parse_delete(self) -> ast.Delete:
        """DELETE or DETACH DELETE, and what they delete."""
        start = self.token.start
        detach = self.accept("DETACH")
        self.expect("DELETE", "after DETACH")
        expressions = [self.parse_expression()]
        height = self.height
        while self.accept(","):
            expressions.append(self.parse_expression())
            height = max(height, self.height)
        self.height = height
        return ast.Delete(expressions, detach, self.span_from(start))

    def _parse_set_items(self) -> list[ast.SetItem]:
        items = [self._parse_set_item()]
        height = self.height
        while self.accept(","):
            items.append(self._parse_set_item())
            height = max(height, self.height)
        self.height = height
        return items

    def _parse_set_item(self) -> ast.SetItem:
        start = self.token.start
        target = self.parse_postfix()
        height = self.height
        if isinstance(target, ast.HasLabels):
            return self._build_labels(target, removes=False)
        adds = self.accept("+=")
        if not adds:
            self.expect("=", "and the value to set")
        value = self.parse_expression()
        self.height = max(height, self.height)
        span = self.span_from(start)
        if isinstance(target, ast.Variable):
            return ast.SetProperties(target, value, adds, span)
        if isinstance(target, ast.Property) and not adds:
            return ast.SetProperty(target, value, span)
        raise self._refuse_target(target, "SET")

    def _build_labels(self, target: ast.Expression, *, removes: bool) -> ast.SetLabels:
        if isinstance(target, ast.HasLabels) and isinstance(target.subject, ast.Variable):
            labels = list_plain_labels(target.labels)
            if labels is not None:
                return ast.SetLabels(target.subject, labels, removes, target.span)
        raise self._refuse_target(target, "REMOVE" if removes else "SET")

    def _refuse_target(self, target: ast.Expression, clause: str) -> QueryInvalid:
        forms = (
            "n.key or n:Label" if clause == "REMOVE" else "n.key = ..., n = ..., n += ... or n:L"
        )
        return self.error("UnexpectedSyntax", f"{clause} takes {forms}", target.span)

    # --- procedures

    def parse_procedure_call(self, start: int) -> ast.CallProcedure:
        """Parse what follows CALL: the name of a procedure, its arguments, and YIELD."""
        name = self.expect_word("the name of a procedure").name
        while self.accept("."):
            name += f".{self.expect_word('the next part of the name').name}"
        arguments: list[ast.Expression] | None = None
        height = 0
        if self.accept("("):
            arguments = []
            while self.token.key != ")":
                arguments.append(self.parse_expression())
                height = max(height, self.height)
                if not self.accept(","):
                    break
            self.expect(")", "to close the arguments")
        yields, star, where = None, False, None
        if self.accept("YIELD"):
            star = self.accept("*")
            if not star:
                yields = self._parse_yields()
            if self.accept("WHERE"):
                where = self.parse_predicate()
                height = max(height, self.height)
        self.height = height
        span = self.span_from(start)
        return ast.CallProcedure(name, arguments, yields, star, where, span)

    def _parse_yields(self) -> list[tuple[str, ast.Variable]]:
        if self.accept("-"):  # SPEC: openCypher 9 writes so that nothing is taken
            return []
        found: list[tuple[str, ast.Variable]] = []
        while True:
            token = self.expect_name("a result of the procedure")
            result = token.name
            if self.accept("AS"):
                token = self.expect_name("a variable")
            found.append((result, ast.Variable(token.name, token.span)))
            if not self.accept(","):
                return found

    def at_procedure(self) -> bool:
        """Return whether a name follows CALL."""
        return self.token.kind in {TokenKind.NAME, TokenKind.QUOTED}


def list_plain_labels(labels: LabelExpression | None) -> list[str] | None:
    """Return the labels that a node is to have; None for an expression that says no such thing."""
    match labels:
        case None:
            return []
        case LabelName(name=name):
            return [name]
        case LabelAnd(left=left, right=right):
            one, other = list_plain_labels(left), list_plain_labels(right)
            return None if one is None or other is None else [*one, *other]
        case _:
            return None
