"""Parses a query text of either language to the algebra: the entry point of the front end."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.query.adt.builder import build_adt_query
from twinframe.query.adt.errors import AdtSource
from twinframe.query.adt.parser import parse_adt
from twinframe.query.algebra import Expression, Project, Query, Unit
from twinframe.query.cypher import ast
from twinframe.query.cypher.builder import build_query, build_statement
from twinframe.query.cypher.lexer import COMMENT_PATTERN
from twinframe.query.cypher.parser import parse_as_of, parse_cypher
from twinframe.query.cypher.scope import check_query, check_statement
from twinframe.query.cypher.tokens import PREFIXES
from twinframe.query.errors import Source
from twinframe.query.options import FrontEndOptions
from twinframe.query.spans import Span
from twinframe.query.writing.procedures import NO_PROCEDURES, Procedures
from twinframe.query.writing.steps import Statement

if TYPE_CHECKING:
    from collections.abc import Collection

_BLANKS = rf"(?:\s|{COMMENT_PATTERN})"
_FIRST_WORDS = re.compile(
    rf"(?:\s+|{COMMENT_PATTERN})*(?:(?:{'|'.join(PREFIXES)})(?:\s+|{COMMENT_PATTERN})+)?(\w*)",
    re.IGNORECASE,
)
_AS_OF = re.compile(
    rf"{_BLANKS}*+(?:(?:{'|'.join(PREFIXES)}){_BLANKS}++)?AS{_BLANKS}++OF\b", re.IGNORECASE
)
_CALL = re.compile(r"\bCALL\b", re.IGNORECASE)
_NO_LINE_END = re.compile(r"[^\r\n]")


class Language(enum.Enum):
    """The languages of `POST /query`."""

    CYPHER = "cypher"
    ADT = "adt"  # the vendor's SQL-like language


@dataclass(frozen=True, slots=True)
class AsOf:
    """The clause `AS OF` before a Cypher query: its `text`, and the moment that it names.

    The `moment` reads no variable; it may read parameters. `source` locates errors in it.
    """

    text: str
    span: Span
    moment: Expression
    source: Source

    def refuse(self, message: str) -> QueryInvalid:
        """Build the error that it may not stand there."""
        return self.source.error(self.span, "UnexpectedSyntax", message)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query ready to be planned.

    `parameters` are the names it uses, in order of first use; `prefix` is EXPLAIN or PROFILE where
    one of them precedes it, `as_of` the clause that names the state to read. `statement` has the
    steps of a text that calls procedures, whose `query` has its columns alone.
    """

    language: Language
    query: Query
    parameters: tuple[str, ...] = ()
    prefix: str = ""
    as_of: AsOf | None = None
    statement: Statement | None = None


def parse_query(
    text: str,
    *,
    parameters: Collection[str] = (),
    options: FrontEndOptions | None = None,
    procedures: Procedures = NO_PROCEDURES,
) -> ParsedQuery:
    """Parse a query of either language.

    `parameters` are the names sent with the request. A query may call `procedures` where the
    options allow calls. Raises QueryInvalid for an invalid text,
    LimitExceeded for one that is too long.
    """
    options = options or FrontEndOptions()
    check_length(text, options)
    text, as_of = split_as_of(text, parameters, options)
    if detect_language(text) is Language.ADT:
        adt_source = AdtSource(text)
        statement = parse_adt(adt_source, options)
        algebra = replace(build_adt_query(adt_source, statement), source=adt_source)
        return ParsedQuery(Language.ADT, algebra, prefix=statement.prefix)
    source = Source(text)
    tree, prefix = parse_cypher(source, options)
    used = check_query(source, tree, parameters, procedures)
    if options.calls and _CALL.search(text) is not None:
        steps = build_statement(tree, procedures)
        if not steps.is_query:
            _check_calls(source, steps, prefix)
            algebra = Query(Unit(), steps.columns, source=source)
            return ParsedQuery(Language.CYPHER, algebra, used, prefix, as_of, steps)
    algebra = replace(build_query(tree), source=source)
    return ParsedQuery(Language.CYPHER, algebra, used, prefix, as_of)


def _check_calls(source: Source, statement: Statement, prefix: str) -> None:
    """SEC: whoever may query may call what only reads and needs no permission of its own."""
    for call in statement.list_calls():
        name, reason = call.procedure.name, ""
        if call.procedure.writes:
            reason = f"{name} writes"
        elif call.procedure.permission:
            reason = f"{name} needs the permission {call.procedure.permission}"
        elif prefix:
            reason = f"{prefix} shows no procedure here"
        if reason:
            message = f"{reason}; send this to POST /cypher"
            raise source.error(call.span, "ProcedureNotAllowed", message, kind="ProcedureError")


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement that writes or calls procedures; `prefix` is EXPLAIN where that precedes it."""

    statement: Statement
    prefix: str = ""


def parse_statement(
    text: str,
    *,
    parameters: Collection[str] = (),
    options: FrontEndOptions,
    procedures: Procedures = NO_PROCEDURES,
) -> ParsedStatement:
    """Parse a statement of Cypher, which may write and call procedures.

    `options` allow writing. Raises QueryInvalid, LimitExceeded.
    """
    check_length(text, options)
    source = Source(text)
    if _AS_OF.match(text) is not None or detect_language(text) is Language.ADT:
        message = "a statement is Cypher of the present state; send AS OF and SELECT to POST /query"
        raise source.error(Span(0, len(text)), "UnexpectedSyntax", message)
    tree, prefix = parse_cypher(source, options)
    if prefix == "PROFILE":
        message = "a statement is not profiled; write EXPLAIN, or rehearse it"
        raise source.error(Span(0, len(text)), "UnexpectedSyntax", message)
    allowed = options.map_properties
    effects = check_statement(source, tree, parameters, procedures, map_properties=allowed)
    built = build_statement(tree, procedures)
    return ParsedStatement(replace(built, effects=effects, source=source), prefix)


def split_as_of(
    text: str, parameters: Collection[str], options: FrontEndOptions
) -> tuple[str, AsOf | None]:
    """Return a text with blanks in place of its clause AS OF, and that; None if it has none.

    Raises QueryInvalid, LimitExceeded. PERF: 0.3 us where there is none.
    """
    if _AS_OF.match(text) is None:
        return text, None
    check_length(text, options)
    source = Source(text)
    expression, span = parse_as_of(source, options)
    clause = text[span.start : span.end]
    rest = f"{text[: span.start]}{_NO_LINE_END.sub(' ', clause)}{text[span.end :]}"
    if detect_language(rest) is Language.ADT:
        message = "AS OF belongs to Cypher; beside another query, send asOf as a member of the body"
        raise source.error(span, "UnexpectedSyntax", message)
    item = ast.Item(expression, "moment", aliased=True, span=span)
    returned = ast.Projection(True, False, False, [item], [], None, None, None, span)
    tree = ast.Query([ast.SingleQuery([returned], span)], all=False, span=span)
    check_query(source, tree, parameters)
    root = build_query(tree).root
    if not isinstance(root, Project):
        message = "a moment is no aggregate: there are no rows before the query"
        raise source.error(span, "InvalidAggregation", message)
    return rest, AsOf(clause, span, root.items[0][1], source)


def detect_language(text: str) -> Language:
    """Detect the language by the first word: SELECT begins a query of the vendor's language."""
    found = _FIRST_WORDS.match(text)
    word = found.group(1) if found is not None else ""
    return Language.ADT if word.upper() == "SELECT" else Language.CYPHER


def check_length(text: str, options: FrontEndOptions) -> None:
    """Raise LimitExceeded for a text that is too long to be read."""
    # NOTE: a character takes at most four bytes, so most texts need not be encoded to be measured.
    limit = options.max_text_bytes
    if len(text) * 4 > limit and len(text.encode("utf-8", "surrogatepass")) > limit:
        raise LimitExceeded(f"A query text may be {limit} bytes long (Query__MaxTextBytes).")
