"""Continuation tokens: only ours, only for their request, only until they expire."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import InvalidArgument, InvalidContinuationToken
from twinframe.graph.context.paging import Continuation, Listing, PageSizes, TokenSigner
from twinframe.model.pages import PageRequest

SECRET = b"s" * 32
NOW = 1_700_000_000_000_000_000
STATES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


def signer(secret: bytes = SECRET, at: float = 0) -> TokenSigner:
    return TokenSigner(secret, 60, lambda: NOW + int(at * 1_000_000_000))


TOKEN = signer().render("op", ["a", None], Continuation(["key", 7], 10))


@given(STATES, st.integers(1, 10_000), STATES)
def test_a_token_gives_back_what_it_carries(state: Any, size: int, arguments: Any) -> None:
    token = signer().render("op", arguments, Continuation(state, size))
    assert signer().parse("op", arguments, token) == Continuation(state, size)
    assert token.isascii()
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_a_flip_of_any_bit_is_refused() -> None:
    raw = TOKEN.encode()
    for at in range(len(raw) * 8):
        flipped = bytearray(raw)
        flipped[at // 8] ^= 1 << at % 8
        with pytest.raises(InvalidContinuationToken):
            signer().parse("op", ["a", None], flipped.decode("latin-1"))


def test_a_flip_of_any_signed_bit_is_refused() -> None:
    raw = base64.urlsafe_b64decode(TOKEN + "=" * (-len(TOKEN) % 4))
    for at in range(len(raw) * 8):
        flipped = bytearray(raw)
        flipped[at // 8] ^= 1 << at % 8
        token = base64.urlsafe_b64encode(bytes(flipped)).rstrip(b"=").decode()
        with pytest.raises(InvalidContinuationToken):
            signer().parse("op", ["a", None], token)


@pytest.mark.parametrize(
    "token",
    ["", "x", "a" * 40, "=", TOKEN + "=", TOKEN + "A", TOKEN[:-1], " " + TOKEN, TOKEN + "\n", "é",
     "null", "0" * 600_000],
)  # fmt: skip
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidContinuationToken):
        signer().parse("op", ["a", None], token)


@given(st.text(max_size=80))
def test_no_foreign_exception_comes_out(token: str) -> None:
    with pytest.raises(InvalidContinuationToken):
        signer().parse("op", None, token)


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [("other", ["a", None]), ("op", ["a"]), ("op", ["a", ""]), ("op", ["b", None]), ("op", None)],
)
def test_a_token_is_for_its_operation_and_arguments(operation: str, arguments: Any) -> None:
    with pytest.raises(InvalidContinuationToken):
        signer().parse(operation, arguments, TOKEN)


def test_a_token_is_for_its_graph() -> None:
    with pytest.raises(InvalidContinuationToken):
        signer(b"t" * 32).parse("op", ["a", None], TOKEN)


def test_a_token_expires() -> None:
    assert signer(at=60).parse("op", ["a", None], TOKEN).size == 10
    with pytest.raises(InvalidContinuationToken, match="expired"):
        signer(at=61).parse("op", ["a", None], TOKEN)


# --- pages ---------------------------------------------------------------------------------------


@given(
    st.sets(st.integers(0, 300), max_size=40),
    st.integers(1, 12),
    st.lists(st.tuples(st.booleans(), st.integers(0, 300)), max_size=12),
)
def test_pages_never_repeat_nor_lose_what_stays(
    keys: set[int], size: int, changes: list[tuple[bool, int]]
) -> None:
    """Items come and go between pages; those there all along are given exactly once."""
    listing = Listing(signer(), PageSizes(5, 10, 10_000), "op", [])
    present, stayed = set(keys), set(keys)
    given_: list[int] = []
    request = PageRequest(size)
    while True:
        start, most = listing.start(request)
        after = -1 if start is None else int(start)
        found = sorted(key for key in present if key > after)[: most + 1]
        page = listing.page([(key, key) for key in found], most)
        given_ += page.items
        assert len(page.items) <= min(size, 10)
        if page.token is None:
            break
        assert page.items
        request = PageRequest(None, page.token)
        if changes:
            adding, key = changes.pop()
            (present.add if adding else present.discard)(key)
            stayed.discard(key)
    assert len(given_) == len(set(given_))
    assert given_ == sorted(given_)
    assert stayed <= set(given_)


def test_page_sizes() -> None:
    sizes = PageSizes(usual=5, most=10, bytes=10_000)
    assert [sizes.build(asked) for asked in (None, 1, 10, 11)] == [5, 1, 10, 10]
    assert [sizes.build(None, carried) for carried in (3, 20)] == [3, 10]
    assert sizes.build(4, 3) == 4
    for asked in (0, -5):
        with pytest.raises(InvalidArgument):
            sizes.build(asked)
