"""A text of too many words is not read to its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from twinframe.errors import QueryInvalid
from twinframe.query.adt.errors import AdtSource
from twinframe.query.adt.lexer import read_tokens as read_adt_tokens
from twinframe.query.cypher.lexer import read_tokens
from twinframe.query.cypher.size import take_tokens
from twinframe.query.cypher.tokens import Token
from twinframe.query.errors import Source
from twinframe.query.language import parse_query
from twinframe.query.options import FrontEndOptions

OPTIONS = FrontEndOptions(max_words=100, max_constants=200)


@pytest.mark.parametrize("is_adt", [False, True])
def test_nothing_behind_the_first_word_too_many_is_read(is_adt: bool) -> None:
    text = "SELECT " + "a " * 50_000
    source = AdtSource(text) if is_adt else Source(text)
    read = []

    def count(found: Iterator[Token]) -> Iterator[Token]:
        for token in found:
            read.append(token)
            yield token

    found = read_adt_tokens(source) if is_adt else read_tokens(source)
    with pytest.raises(QueryInvalid, match=r"at most 100 words.*Query__MaxWords"):
        take_tokens(source, count(found), OPTIONS)
    assert len(read) == 101


def test_constants_of_lists_count_beside() -> None:
    source = Source("RETURN [" + "1," * 150 + "1]")
    assert len(take_tokens(source, read_tokens(source), OPTIONS)) == 1 + 2 + 301 + 1
    source = Source("RETURN [" + "1," * 250 + "1]")
    with pytest.raises(QueryInvalid, match="at most 200 constants"):
        take_tokens(source, read_tokens(source), OPTIONS)


def test_a_text_at_the_limit_is_read_whole() -> None:
    source = Source("a " * 99)
    assert len(take_tokens(source, read_tokens(source), OPTIONS)) == 100


@pytest.mark.parametrize("start", ["", "EXPLAIN "])
def test_a_text_that_begins_by_writing_is_refused_for_that_however_long(start: str) -> None:
    with pytest.raises(QueryInvalid, match="CREATE is refused"):
        parse_query(start + "CREATE (a) " * 5_000, options=OPTIONS)
    with pytest.raises(QueryInvalid, match="DETACH DELETE is refused"):
        parse_query(start + "DETACH DELETE a")
