"""Parses clauses and whole queries of Cypher; writing clauses only where they are allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.algebra import SubplanKind
from twinframe.query.cypher import ast
from twinframe.query.cypher.parser.patterns import SHORTEST
from twinframe.query.cypher.parser.writing import WritingParser
from twinframe.query.cypher.tokens import NAMES, READING_CLAUSES, WRITING_CLAUSES, TokenKind

if TYPE_CHECKING:
    from twinframe.errors import QueryInvalid

_CLAUSE_HEIGHT = 2
_TRANSACTION_PARTS = ("OF", "ON ERROR", "REPORT STATUS")
"""How much a clause may add to the height of the plan on average (see `FrontEndOptions`)."""
_WRITTEN = WRITING_CLAUSES - {"DROP", "FOREACH", "LOAD"}


class CypherParser(WritingParser):
    """Parses a whole Cypher query."""

    _inside = ""
    """The construct whose braces are being parsed: a query there may lack RETURN."""
    _only_reads = ""
    """The construct around it, at any distance, that is an expression and so only reads."""

    def parse_whole_query(self) -> ast.Query:
        """Parse the query, up to the end of the text."""
        found = self._parse_query()
        ended = self.accept(";")
        if self.token.kind is not TokenKind.END:
            if ended:
                message = "one statement is sent at a time; what follows the semicolon is another"
                raise self.error("UnexpectedSyntax", message)
            raise self._unexpected_clause()
        return found

    def _parse_query(self) -> ast.Query:
        start = self.token.start
        parts = [self._parse_single_query()]
        height = self.height
        modes: list[bool] = []
        while self.token.key == "UNION":
            token = self.advance()
            modes.append(self.accept("ALL"))
            if modes[-1] != modes[0]:
                raise self.error(
                    "InvalidClauseComposition", "UNION and UNION ALL cannot be mixed", token.span
                )
            parts.append(self._parse_single_query())
            height = max(height, self.height)
        self.raise_height(height + len(modes).bit_length())
        return ast.Query(parts, bool(modes and modes[0]), self.span_from(start))

    def _parse_single_query(self) -> ast.SingleQuery:
        start = self.token.start
        clauses: list[ast.Clause] = []
        height = 0
        while (clause := self._parse_clause()) is not None:
            clauses.append(clause)
            if isinstance(clause, ast.WRITING):
                height = 0  # each is a step of its own, over the rows of those before
            else:
                height = max(height, self.height) + _CLAUSE_HEIGHT
            self.raise_height(height)
            if isinstance(clause, ast.Projection) and clause.final:
                break
        if not clauses:
            raise self._unexpected_clause()
        self._check_order(clauses)
        self._check_end(clauses)
        return ast.SingleQuery(clauses, self.span_from(start))

    def _check_order(self, clauses: list[ast.Clause]) -> None:
        """SPEC: openCypher 9: behind a clause that writes, only a WITH lets the query read."""
        writes = False
        for clause in clauses:
            if isinstance(clause, ast.WRITING):
                writes = True
            elif isinstance(clause, ast.Projection):
                writes = False
            elif writes:
                raise self.error(
                    "InvalidClauseComposition",
                    "a WITH stands between a clause that writes and one that reads",
                    clause.span,
                )

    def _check_end(self, clauses: list[ast.Clause]) -> None:
        last = clauses[-1]
        if isinstance(last, ast.CallProcedure) and last.yields is None and not last.star:
            last.standalone = len(clauses) == 1 and not self._inside
            if self._at_end_of_clauses():
                return
        if isinstance(last, ast.CallProcedure) and len(clauses) == 1 and not self._inside:
            last.standalone = True
        is_end = (
            (isinstance(last, ast.Projection) and last.final)
            or isinstance(last, ast.WRITING)
            or (isinstance(last, ast.CallProcedure) and last.standalone)
            or (isinstance(last, ast.CallSubquery) and _returns_nothing(last.query))
        )
        if is_end and (self._at_end_of_clauses() or isinstance(last, ast.Projection)):
            return
        if not is_end and self._inside in {"EXISTS", "COUNT"}:
            return
        if self._at_end_of_clauses():
            raise self.error(
                "InvalidClauseComposition", "a query that reads ends with RETURN", last.span
            )
        raise self._unexpected_clause()

    def _at_end_of_clauses(self) -> bool:
        return self.token.kind is TokenKind.END or self.token.key in {"UNION", "}", ";"}

    def _parse_clause(self) -> ast.Clause | None:
        key = self.token.key
        match key:
            case "MATCH" | "OPTIONAL":
                return self._parse_match()
            case "WITH":
                return self._parse_projection(final=False)
            case "RETURN":
                return self._parse_projection(final=True)
            case "UNWIND":
                return self._parse_unwind()
            case "CALL":
                return self._parse_call_clause()
            case _ if key in WRITING_CLAUSES:
                return self._parse_writing(key)
            case _:
                return None

    def _parse_writing(self, key: str) -> ast.Clause:
        if self.options.writes and not self._only_reads:
            match key:
                case "CREATE":
                    return self.parse_create()
                case "MERGE":
                    return self.parse_merge()
                case "SET":
                    return self.parse_set()
                case "REMOVE":
                    return self.parse_remove()
                case "DELETE" | "DETACH":
                    return self.parse_delete()
        raise self._refuse_writing()

    # --- what is refused

    def _refuse_writing(self) -> QueryInvalid:
        name = self.token.key
        following = self.peek().key
        if (name, following) in {("DETACH", "DELETE"), ("LOAD", "CSV")}:
            name = f"{name} {following}"
        inside = self._only_reads or ("" if self.options.writes else self._inside)
        if inside:
            return self.error(
                "InvalidClauseComposition", f"{name} writes; {inside} {{ ... }} only reads"
            )
        if not self.options.writes:
            message = f"{name} is refused: a query only reads; send what writes to POST /cypher"
        elif name == "FOREACH":
            message = "FOREACH is no clause of openCypher 9; write UNWIND ... AS x and the clause"
        else:
            message = f"{name} is refused: files are read and schemas changed by other requests"
        return self.source.error(self.token.span, "WritingClause", message, kind="SemanticError")

    def _unexpected_clause(self) -> QueryInvalid:
        key = self.token.key
        if key in _WRITTEN and self.options.writes:
            return self.error(
                "InvalidClauseComposition",
                f"{key} stands before RETURN, which ends a query; write WITH to go on with rows",
            )
        if key in WRITING_CLAUSES:
            return self._refuse_writing()
        if key in {"WHERE", "ORDER", "SKIP", "LIMIT"}:
            home = "MATCH or WITH" if key == "WHERE" else "WITH or RETURN"
            return self.error("UnexpectedSyntax", f"{key} belongs directly behind {home}")
        return self.unexpected(f"a clause: {', '.join(READING_CLAUSES)}")

    # --- clauses

    def _parse_match(self) -> ast.Match:
        start = self.token.start
        optional = self.accept("OPTIONAL")
        self.expect("MATCH")
        parts = self.parse_pattern()
        height = self.height
        where = self._parse_where()
        self.height = max(height, self.height)
        return ast.Match(optional, parts, where, self.span_from(start))

    def _parse_where(self) -> ast.Expression | None:
        return self.parse_predicate() if self.accept("WHERE") else None

    def _parse_unwind(self) -> ast.Unwind:
        start = self.advance().start
        expression = self.parse_expression()
        self.expect("AS", "and a variable")
        token = self.expect_name("a variable")
        variable = ast.Variable(token.name, token.span)
        return ast.Unwind(expression, variable, self.span_from(start))

    def _parse_projection(self, *, final: bool) -> ast.Projection:
        start = self.advance().start
        distinct = self.accept("DISTINCT")
        star = self.accept("*")
        items: list[ast.Item] = []
        self.height = 0
        if not star or self.accept(","):
            items = self._parse_items()
        height = self.height
        order = self._parse_order()
        height = max(height, self.height)
        skip = self.parse_expression() if self.accept("SKIP") else None
        height = max(height, self.height)
        limit = self.parse_expression() if self.accept("LIMIT") else None
        height = max(height, self.height)
        where = None if final else self._parse_where()
        self.height = max(height, self.height)
        return ast.Projection(
            final, distinct, star, items, order, skip, limit, where, self.span_from(start)
        )

    def _parse_items(self) -> list[ast.Item]:
        items = [self._parse_item()]
        height = self.height
        while self.accept(","):
            items.append(self._parse_item())
            height = max(height, self.height)
        self.height = height
        return items

    def _parse_item(self) -> ast.Item:
        start = self.token.start
        expression = self.parse_expression()
        if isinstance(expression, ast.PatternExpression) and expression.kind is SubplanKind.COLLECT:
            # SPEC: the kit refuses a pattern as a column (Pattern1 [22] and [23]).
            raise self.error(
                "UnexpectedSyntax",
                "a pattern alone is no column; write EXISTS { ... } for whether it matches, "
                "size(...) for how often, and [p = (a)-->(b) | p] for its paths",
                expression.span,
            )
        span = self.span_from(start)
        if self.accept("AS"):
            name = self.expect_name("an alias").name
            return ast.Item(expression, name, aliased=True, span=span)
        if isinstance(expression, ast.Variable):
            return ast.Item(expression, expression.name, aliased=True, span=span)
        # SPEC: openCypher names a column without an alias by its expression as written.
        text = self.source.text[span.start : span.end]
        return ast.Item(expression, text, aliased=False, span=span)

    def _parse_order(self) -> list[ast.SortItem]:
        if not self.accept("ORDER"):
            return []
        self.expect("BY", "after ORDER")
        found: list[ast.SortItem] = []
        height = 0
        while True:
            expression = self.parse_expression()
            height = max(height, self.height)
            descending = self.token.key in {"DESC", "DESCENDING"}
            if descending or self.token.key in {"ASC", "ASCENDING"}:
                self.advance()
            found.append(ast.SortItem(expression, descending))
            if not self.accept(","):
                self.height = height
                return found

    # --- subqueries

    def _parse_call_clause(self) -> ast.CallSubquery | ast.CallProcedure:
        token = self.advance()
        if self.token.key not in {"{", "("}:
            may_call = self.options.writes or self.options.calls
            if may_call and not self._only_reads and self.at_procedure():
                return self.parse_procedure_call(token.start)
            name = self.token.value if self.token.kind in NAMES else ""
            where = f"inside {self._only_reads} {{ ... }}" if self._only_reads else "here"
            raise self.source.error(
                self.token.span,
                "ProcedureNotFound",
                f"the procedure {name} cannot be called {where}: CALL is for subqueries, "
                "CALL { ... }",
                kind="ProcedureError",
            )
        imports: list[ast.Variable] | None = None
        import_all = False
        if self.accept("("):
            imports = []
            import_all = self.accept("*")
            while not import_all and self.token.key != ")":
                name_token = self.expect_name("a variable to import")
                imports.append(ast.Variable(name_token.name, name_token.span))
                if not self.accept(","):
                    break
            self.expect(")", "to close the imports")
        query = self._parse_braced("CALL")
        height = self.height
        found = ast.CallSubquery(imports, import_all, query, self.span_from(token.start))
        if self.options.writes and self.accept("IN", "TRANSACTIONS"):
            found.in_transactions = True
            self._parse_transactions(found)
            found.span = self.span_from(token.start)
            if self._inside:
                message = "a subquery IN TRANSACTIONS stands in no other subquery"
                raise self.error("InvalidClauseComposition", message, found.span)
        self.height = height
        return found

    def _parse_transactions(self, found: ast.CallSubquery) -> None:
        """Parse what follows IN TRANSACTIONS: each part at most once, in any order."""
        taken: set[str] = set()
        while True:
            token = self.token
            part = next((one for one in _TRANSACTION_PARTS if self.accept(*one.split())), None)
            if part is None:
                break
            if part in taken:
                raise self.error(
                    "InvalidClauseComposition", f"{part} stands there twice", token.span
                )
            taken.add(part)
            match part:
                case "OF":
                    found.batch = self.parse_expression()
                    if not self.accept("ROWS"):
                        self.expect("ROW", "after the number of rows")
                case "ON ERROR":
                    wanted = next((one for one in ("CONTINUE", "BREAK") if self.accept(one)), None)
                    found.on_error = wanted or self.expect("FAIL", "CONTINUE or BREAK").key
                case _:
                    self.expect("AS", "and a variable")
                    name = self.expect_name("a variable for the status")
                    found.status = ast.Variable(name.name, name.span)
        if found.status is not None and found.on_error == "FAIL":
            message = "REPORT STATUS needs ON ERROR CONTINUE or ON ERROR BREAK"
            raise self.error("InvalidClauseComposition", message, found.status.span)

    def parse_subquery(self, kind: SubplanKind) -> ast.Expression:
        """Parse `{...}` after EXISTS, COUNT or COLLECT: a pattern with WHERE, or a whole query."""
        start = self.token.start
        query = self._parse_braced(kind.name)
        self.raise_height(self.height + 2)
        return ast.Subquery(kind, query, self.span_from(start))

    def _parse_braced(self, inside: str) -> ast.Query:
        self.expect("{")
        self.enter()
        before = (self._inside, self._only_reads, self.bar_ends)
        self._inside, self.bar_ends = inside, False
        if inside != "CALL":
            self._only_reads = inside
        if inside != "CALL" and self._at_bare_pattern():
            query = self._parse_bare_pattern()
        else:
            query = self._parse_query()
        self._inside, self._only_reads, self.bar_ends = before
        if self.token.key != "}":
            raise self._unexpected_clause()
        self.advance()
        self.leave()
        return query

    def _at_bare_pattern(self) -> bool:
        named = self.token.kind in NAMES and self.peek().key == "="
        return named or self.token.key == "(" or self.token.key in SHORTEST

    def _parse_bare_pattern(self) -> ast.Query:
        start = self.token.start
        parts = self.parse_pattern()
        height = self.height
        where = self._parse_where()
        self.raise_height(max(height, self.height) + _CLAUSE_HEIGHT)
        span = self.span_from(start)
        match = ast.Match(optional=False, parts=parts, where=where, span=span)
        return ast.Query([ast.SingleQuery([match], span)], all=False, span=span)


def _returns_nothing(query: ast.Query) -> bool:
    """Return whether the subquery ends with a clause that writes, so that it has no columns."""
    last = query.parts[0].clauses[-1]
    return isinstance(last, ast.WRITING)
