"""Answers of engines as rows, whole and in pieces."""

from __future__ import annotations

from collections.abc import Generator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import LimitExceeded, StorageError
from twinframe_storage_rdf import results
from twinframe_storage_rdf.results import parse_pieces, parse_rows

_TEXTS = st.lists(
    st.sampled_from(['"', "}", ",", "{", "\\", '"}},{"', '\\"', "a", "\u00e9"]), max_size=8
)
_ROWS = st.lists(st.dictionaries(st.sampled_from(["a", "b"]), _TEXTS.map("".join)), max_size=6)


def cut(text: bytes, size: int) -> Generator[bytes]:
    yield from (text[at : at + size] for at in range(0, len(text), size))


def render(rows: list[dict[str, str]]) -> bytes:
    bindings = [
        {name: {"type": "literal", "value": text} for name, text in row.items()} for row in rows
    ]
    return orjson.dumps({"head": {"vars": ["a", "b"]}, "results": {"bindings": bindings}})


@given(_ROWS, st.integers(1, 80))
def test_an_answer_in_pieces_has_the_same_rows(rows: list[dict[str, str]], size: int) -> None:
    answer = render(rows)
    assert list(parse_pieces(cut(answer, size))) == list(parse_rows(answer))


def test_rows_are_given_before_all_pieces_are_there() -> None:
    answer = render([{"a": "x" * 90}] * 10)
    taken: list[bytes] = []

    def take() -> Generator[bytes]:
        for piece in cut(answer, 100):
            taken.append(piece)
            yield piece

    rows = parse_pieces(take())
    assert next(rows) == ("x" * 90, None)
    assert len(taken) < 5


def test_a_row_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_MOST_BYTES", 1000)
    with pytest.raises(LimitExceeded, match="1000"):
        list(parse_pieces(cut(render([{"a": "x" * 5000}]), 100)))


@pytest.mark.parametrize("answer", [b"", b"nothing", render([{"a": "x"}])[:-3]])
def test_an_answer_that_is_not_whole_is_told(answer: bytes) -> None:
    with pytest.raises(StorageError):
        list(parse_pieces(cut(answer, 7)))
