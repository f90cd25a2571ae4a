"""Checks a caller's query before it runs and finds its form and its graphs.

Only the frame of the grammar is checked here; the engine checks the rest when it runs the query. A
text that passes is a query, calls no other server, and is small enough to be planned quickly.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from twinframe.errors import LimitExceeded, SparqlInvalid
from twinframe.errors.nearest import find_nearest
from twinframe.storage.triples import QueryForm, SparqlLimits, SparqlQuery
from twinframe_storage_rdf.terms import XSD

# SPEC: SPARQL 1.1 section 19.8, keywords and built-in calls; of SPARQL 1.2 and common engines those
# that call no other server: LATERAL, triple terms, languages with direction.
_CLAUSE_TEXT: Final = """
BASE PREFIX SELECT DISTINCT REDUCED AS CONSTRUCT DESCRIBE ASK FROM NAMED WHERE GROUP BY HAVING ORDER
ASC DESC LIMIT OFFSET VALUES UNDEF OPTIONAL GRAPH SERVICE SILENT BIND MINUS UNION FILTER LATERAL A
TRUE FALSE IN NOT EXISTS SEPARATOR
"""
_FUNCTION_TEXT: Final = """
STR LANG LANGMATCHES DATATYPE BOUND IRI URI BNODE RAND ABS CEIL FLOOR ROUND CONCAT STRLEN UCASE
LCASE ENCODE_FOR_URI CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES
SECONDS TIMEZONE TZ NOW UUID STRUUID MD5 SHA1 SHA256 SHA384 SHA512 COALESCE IF STRLANG STRDT
SAMETERM ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC REGEX SUBSTR REPLACE COUNT SUM MIN MAX AVG SAMPLE
GROUP_CONCAT TRIPLE SUBJECT PREDICATE OBJECT ISTRIPLE LANGDIR STRLANGDIR HASLANG HASLANGDIR
"""
_WORDS: Final = frozenset((_CLAUSE_TEXT + _FUNCTION_TEXT).split())
_LETTER: Final = r"[^\W\d_]"
_PREFIX: Final = rf"(?:{_LETTER}(?:[\w.-]*[\w-])?)?:"
_PLACE: Final = r"(?:[\w:-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%])"
_TOKEN: Final = re.compile(
    rf"""
    (?P<blank_space>[ \t\r\n]+|\#[^\r\n]*)
    |(?P<iri><[^<>"{{}}|^`\\\x00-\x20]*>)
    |(?P<text>\"{{3}}(?:\"{{0,2}}(?:[^"\\]|\\.))*\"{{3}}|'{{3}}(?:'{{0,2}}(?:[^'\\]|\\.))*'{{3}}
        |"(?:[^"\\\r\n]|\\[^\r\n])*"|'(?:[^'\\\r\n]|\\[^\r\n])*')
    |(?P<blank>_:[\w](?:[\w.-]*[\w-])?)
    |(?P<name>{_PREFIX}(?:{_PLACE}(?:(?:{_PLACE}|\.)*{_PLACE})?)?)
    |(?P<variable>[?$]\w+)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    |(?P<word>[A-Za-z][A-Za-z0-9_]*)
    |(?P<symbol>\^\^|&&|\|\||!=|<=|>=|[{{}}()\[\];,.*/+|^?!=<>-])
    """,
    re.VERBOSE | re.DOTALL,
)
_AMBIGUOUS: Final = re.compile(r"[()&!\[\]]")
_ESCAPE: Final = re.compile(r"\\[uU]")
_LONGEST_IRI: Final = 1024
_UPDATES: Final = frozenset(
    ("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH")
)
_FORMS: Final = tuple(form.value for form in QueryForm)
# SEC: names that libraries parse as the keyword and what follows it (`SERVICE:x`, `trueSERVICE`).
_SERVICE: Final = re.compile(r"service", re.IGNORECASE)
_HIDDEN_SERVICE: Final = re.compile(r"^[^:]*service|\.service", re.IGNORECASE)
# SEC: Virtuoso's `bif:http_get` calls other servers, Jena's `java:` loads classes.
_PROGRAM: Final = re.compile(r"(?:bif|sql|java|javascript):", re.IGNORECASE)
_FUNCTIONS: Final = (XSD, "http://www.w3.org/2005/xpath-functions/math#")
_NO_BREAK: Final = re.compile(r"[^\r\n]")
# PERF: what an engine plans in less than a second: 200 patterns take 0.3 s, 400 take 4; 50 OPTIONAL
# 0.4 s, 200 take 17. 10,000 operators of one kind end the process.
_MOST: Final = {
    "patterns (separated by . ; or ,)": 200,
    "groups ({)": 200,
    "OPTIONAL, MINUS, EXISTS, LATERAL and SELECT": 40,
    "UNION, FILTER, BIND, AS and VALUES": 300,
    "operators": 500,
    "brackets": 3000,
}
_PATTERNS, _GROUPS, _JOINS, _CLAUSES, _OPERATORS, _BRACKETS = _MOST
_JOIN_WORDS: Final = frozenset(("OPTIONAL", "MINUS", "EXISTS", "LATERAL", "SELECT"))
_CLAUSE_WORDS: Final = frozenset(("UNION", "FILTER", "BIND", "AS", "VALUES"))
_SEPARATORS: Final = frozenset((".", ";", ","))
_CLOSING: Final = {")": "(", "]": "[", "}": "{"}


# --- tokens ---------------------------------------------------------------------------------------


class Kind(enum.Enum):
    """The kind of a token."""

    WORD = "word"  # keywords and names of functions
    IRI = "iri"
    NAME = "name"  # prefixed, also with an empty local part
    VARIABLE = "variable"
    BLANK = "blank"
    TEXT = "text"
    NUMBER = "number"
    TAG = "tag"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its position in the text, from 0."""

    kind: Kind
    text: str
    start: int


def iterate_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of the text.

    SPEC: SPARQL 1.1 section 19.8, terminals; each token is the longest that fits. Two things are
    left out on purpose: code point escapes (19.2), which libraries read differently, and IRIs with
    brackets, `&` or `!` in them, which some libraries read as a comparison.

    Raises `SparqlInvalid` with line and column at an invalid character.
    """
    escape = _ESCAPE.search(text)
    if escape is not None:
        raise build_error(
            text, escape.start(), r"code point escapes (\u, \U) are not taken; write the character"
        )
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise build_error(text, at, f"{text[at]!r} does not begin anything here")
        at = found.end()
        name = str(found.lastgroup)
        if name != "blank_space":
            token = Token(Kind(name), found[0], found.start())
            _check(text, token)
            yield token


def build_error(text: str, start: int, message: str) -> SparqlInvalid:
    """Build the error for a position of the text."""
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    end = "" if message.endswith("?") else "."
    return SparqlInvalid(f"Line {line}, column {column}: {message}{end}")


def _check(text: str, token: Token) -> None:
    if token.kind is Kind.IRI and (
        len(token.text) > _LONGEST_IRI or _AMBIGUOUS.search(token.text) is not None
    ):
        raise build_error(
            text,
            token.start,
            f"an IRI has at most {_LONGEST_IRI} characters and none of ( ) [ ] & !; to compare, "
            "write a blank behind <",
        )


_TERMS: Final = frozenset((Kind.IRI, Kind.NAME, Kind.VARIABLE, Kind.BLANK, Kind.TEXT, Kind.NUMBER))


def parse_query(
    text: str,
    graph: str,
    limits: SparqlLimits,
    default_graphs: Sequence[str] = (),
    named_graphs: Sequence[str] = (),
) -> SparqlQuery:
    """Parse a query over `graph`, an IRI and the only graph that the query may name.

    The graphs given with the text replace those of the text (SPARQL 1.1 Protocol section 2.1.4).
    Raises `SparqlInvalid`, `LimitExceeded`.
    """
    if len(text.encode("utf-8", "replace")) > limits.text:
        raise LimitExceeded(
            f"The query text is longer than {limits.text} bytes (Sparql__MaxTextBytes)."
        )
    reading = _Reading(text, graph, limits.depth)
    for token in iterate_tokens(text):
        reading.take(token)
    form = reading.end()
    for iri in (*default_graphs, *named_graphs):
        if iri != graph:
            raise SparqlInvalid(_render_other(iri, graph))
    has_default, has_named = bool(default_graphs), bool(named_graphs)
    if not has_default and not has_named:
        has_default, has_named = reading.has_default, reading.has_named
    if not has_default and not has_named:
        has_default = has_named = True
    return SparqlQuery(reading.render_text(), form, has_default, has_named)


def _render_other(iri: str, graph: str) -> str:
    return f"There is no graph {iri!a} here. All triples are in <{graph}>, which need not be named."


@dataclass
class _Reading:
    """The state of reading a text up to a token."""

    text: str
    graph: str
    depth: int
    form: QueryForm | None = None
    has_default: bool = False
    has_named: bool = False
    _open: list[str] = field(default_factory=list)
    _values_at: int | None = None
    _counts: Counter[str] = field(default_factory=Counter)
    _prefixes: dict[str, str] = field(default_factory=dict)
    _pending: list[Token] = field(default_factory=list)
    _last: Token | None = None
    _clauses: list[tuple[int, int]] = field(default_factory=list)

    def take(self, token: Token) -> None:
        """Process one token."""
        self._refuse_service(token)
        self._refuse_program(token)
        if self._pending:
            self._take_pending(token)
        elif token.kind is Kind.WORD:
            self._take_word(token)
        elif self.form is None:
            raise self._build_error(token, f"expected one of {', '.join(_FORMS)}")
        elif token.kind is Kind.SYMBOL:
            self._take_symbol(token)
        if token.kind in _TERMS or token.text in ("[", "("):
            self._take_neighbour(token)
        self._last = token

    def end(self) -> QueryForm:
        """Return the form at the end of the text."""
        if self.form is None:
            raise SparqlInvalid(f"The query is empty; expected one of {', '.join(_FORMS)}.")
        if self._open:
            raise SparqlInvalid(f"The query ends inside of {self._open[-1]}.")
        return self.form

    def render_text(self) -> str:
        """Render the text without its FROM clauses, replaced by blanks of the same length.

        SEC: the dataset is sent separately from the text, and some servers only add it to the
        graphs that the text names.
        """
        text = self.text
        for start, end in self._clauses:
            text = text[:start] + _NO_BREAK.sub(" ", text[start:end]) + text[end:]
        return text

    def _refuse_service(self, token: Token) -> None:
        if token.kind is Kind.WORD and token.text.upper() == "SERVICE":
            raise self._build_error(token, "SERVICE is refused: no other server is asked")
        pattern = {Kind.WORD: _SERVICE, Kind.NAME: _HIDDEN_SERVICE}.get(token.kind)
        if pattern is not None and pattern.search(token.text) is not None:
            raise self._build_error(
                token, f"{token.text!a} may be read as SERVICE, which is refused; use another name"
            )

    def _refuse_program(self, token: Token) -> None:
        """SEC: refuse product-specific functions, which may do anything."""
        iri = self._resolve(token)
        if iri is not None and _PROGRAM.match(iri) is not None:
            message = f"{token.text!a} is refused: it runs a program"
            raise self._build_error(token, message)
        last = self._last
        if token.text == "(" and last is not None and self.form is not None:
            called = self._resolve(last)
            if called is not None and not called.startswith(_FUNCTIONS):
                raise self._build_error(
                    last,
                    f"{last.text!a} is no function here: those of the standard and the casts of "
                    "XML Schema are; of a list in ( ) write rdf:first and rdf:rest",
                )

    def _resolve(self, token: Token) -> str | None:
        """Return the IRI that the token denotes, if its prefix is known."""
        if token.kind is Kind.IRI:
            return token.text[1:-1]
        if token.kind is not Kind.NAME:
            return None
        prefix, _, local = token.text.partition(":")
        return self._prefixes.get(f"{prefix}:", f"{prefix}:") + local

    def _build_error(self, token: Token, message: str) -> SparqlInvalid:
        return build_error(self.text, token.start, message)

    # --- words ----------------------------------------------------------------------------------

    def _take_word(self, token: Token) -> None:
        word = token.text.upper()
        if word in _UPDATES:
            raise self._build_error(token, f"{word} is refused: only queries are run")
        if self.form is None:
            self._take_first(token, word)
        elif word not in _WORDS:
            near = find_nearest(word, _WORDS)
            hint = f"; did you mean {near}?" if near else ""
            message = f"{token.text!a} is no word of SPARQL 1.1{hint}"
            raise self._build_error(token, message)
        elif word == "FROM":
            self._pending = [token]
        elif word in _JOIN_WORDS:
            self._count(_JOINS)
        elif word in _CLAUSE_WORDS:
            self._count(_CLAUSES)
            if word == "VALUES" and self._values_at is None:
                self._values_at = len(self._open)

    def _take_first(self, token: Token, word: str) -> None:
        if word in ("BASE", "PREFIX"):
            self._pending = [token]
        elif word in _FORMS:
            self.form = QueryForm(word)
        else:
            near = find_nearest(word, _FORMS)
            hint = f"; did you mean {near}?" if near else ""
            raise self._build_error(token, f"expected one of {', '.join(_FORMS)}{hint}")

    def _take_pending(self, token: Token) -> None:
        """Process what follows PREFIX, BASE or FROM."""
        self._pending.append(token)
        word = self._pending[0].text.upper()
        if word == "BASE":
            self._expect(token, Kind.IRI)
        elif word == "PREFIX" and len(self._pending) == 2:
            self._expect(token, Kind.NAME)
            return
        elif word == "PREFIX":
            self._expect(token, Kind.IRI)
            self._prefixes[self._pending[1].text] = token.text[1:-1]
        elif token.text.upper() == "NAMED" and len(self._pending) == 2:
            return
        else:
            self._take_graph(token, named=len(self._pending) == 3)
        self._pending = []

    def _expect(self, token: Token, kind: Kind) -> None:
        if token.kind is not kind:
            wanted = "an IRI in < >" if kind is Kind.IRI else "a name that ends in a colon"
            raise self._build_error(token, f"expected {wanted}, not {token.text!a}")

    def _take_graph(self, token: Token, *, named: bool) -> None:
        iri = self._resolve(token)
        if iri is None:
            raise self._build_error(token, "expected the IRI of a graph behind FROM")
        if iri != self.graph:
            raise self._build_error(token, _render_other(iri, self.graph).rstrip("."))
        self._clauses.append((self._pending[0].start, token.start + len(token.text)))
        self.has_named |= named
        self.has_default |= not named

    # --- symbols --------------------------------------------------------------------------------

    def _take_symbol(self, token: Token) -> None:
        symbol = token.text
        if symbol in "([{":
            if self._values_at is None:
                self._count(_GROUPS if symbol == "{" else _BRACKETS)
            self._open.append(symbol)
            if len(self._open) > self.depth:
                raise LimitExceeded(
                    f"The query nests brackets deeper than {self.depth} (Sparql__MaxDepth)."
                )
        elif symbol in _CLOSING:
            if not self._open or self._open.pop() != _CLOSING[symbol]:
                raise self._build_error(token, f"{symbol} closes nothing")
            if symbol == "}" and self._values_at == len(self._open):
                self._values_at = None
        elif symbol in _SEPARATORS:
            if self._values_at is None and self._open and self._open[-1] != "(":
                self._count(_PATTERNS)
        elif self._values_at is None and not self._is_datatype(token):
            self._count(_OPERATORS)

    def _is_datatype(self, token: Token) -> bool:
        return token.text == "^^" and self._last is not None and self._last.kind is Kind.TEXT

    def _take_neighbour(self, token: Token) -> None:
        """Count the items of collections: terms in parentheses with no separator."""
        inside = self._open[:-1] if token.text in ("[", "(") else self._open
        if self._values_at is not None or not inside or inside[-1] != "(" or self._last is None:
            return
        if self._last.kind in _TERMS or self._last.text in (")", "]"):
            self._count(_PATTERNS)

    def _count(self, what: str) -> None:
        self._counts[what] += 1
        if self._counts[what] > _MOST[what]:
            raise LimitExceeded(f"The query has more than {_MOST[what]} {what}.")
