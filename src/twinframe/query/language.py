"""Parses a query text of either language to the algebra: the entry point of the front end."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from twinframe.errors import LimitExceeded
from twinframe.query.adt.builder import build_adt_query
from twinframe.query.adt.errors import AdtSource
from twinframe.query.adt.parser import parse_adt
from twinframe.query.cypher.builder import build_query
from twinframe.query.cypher.lexer import COMMENT_PATTERN
from twinframe.query.cypher.parser import parse_cypher
from twinframe.query.cypher.scope import check_query
from twinframe.query.cypher.tokens import PREFIXES
from twinframe.query.errors import Source
from twinframe.query.options import FrontEndOptions

if TYPE_CHECKING:
    from collections.abc import Collection

    from twinframe.query.algebra import Query

_FIRST_WORDS = re.compile(
    rf"(?:\s+|{COMMENT_PATTERN})*(?:(?:{'|'.join(PREFIXES)})(?:\s+|{COMMENT_PATTERN})+)?(\w*)",
    re.IGNORECASE,
)


class Language(enum.Enum):
    """The languages of `POST /query`."""

    CYPHER = "cypher"
    ADT = "adt"  # the vendor's SQL-like language


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query ready to be planned.

    `parameters` are the names it uses, in order of first use; `prefix` is EXPLAIN or PROFILE where
    one of them precedes it.
    """

    language: Language
    query: Query
    parameters: tuple[str, ...] = ()
    prefix: str = ""


def parse_query(
    text: str,
    *,
    parameters: Collection[str] = (),
    options: FrontEndOptions | None = None,
) -> ParsedQuery:
    """Parse a query of either language.

    `parameters` are the names sent with the request. Raises QueryInvalid for an invalid text,
    LimitExceeded for one that is too long.
    """
    options = options or FrontEndOptions()
    check_length(text, options)
    if detect_language(text) is Language.ADT:
        adt_source = AdtSource(text)
        statement = parse_adt(adt_source, options)
        algebra = replace(build_adt_query(adt_source, statement), source=adt_source)
        return ParsedQuery(Language.ADT, algebra, prefix=statement.prefix)
    source = Source(text)
    tree, prefix = parse_cypher(source, options)
    used = check_query(source, tree, parameters)
    return ParsedQuery(Language.CYPHER, replace(build_query(tree), source=source), used, prefix)


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
