"""Pages of key-ordered listings: sizes, tokens, where the next page starts. It reads no store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from twinframe.errors import InvalidArgument
from twinframe.graph.tokens import Continuation, TokenSigner
from twinframe.model.pages import Page, PageRequest
from twinframe.model.values import JsonValue

T = TypeVar("T")
K = TypeVar("K", int, str)


@dataclass(frozen=True, slots=True)
class PageSizes:
    """`usual`: items when none are asked for. `most`: more are never given."""

    usual: int
    most: int

    def build(self, asked: int | None, carried: int | None = None) -> int:
        """Items of this page. `carried` is the size of the pages before it."""
        if asked is None:
            return min(carried or self.usual, self.most)
        if asked < 1:
            raise InvalidArgument(f"max-items-per-page must be at least 1, not {asked}.")
        return min(asked, self.most)


@dataclass(frozen=True, slots=True)
class Listing:
    """One listing with its arguments: what its tokens are bound to.

    `start(request)` gives the key behind which the page starts (None: at the begin) and its size;
    read one item more than that, and `page` cuts it off and makes the token.
    """

    signer: TokenSigner
    sizes: PageSizes
    operation: str
    arguments: JsonValue

    def start(self, request: PageRequest) -> tuple[str | int | None, int]:
        """Where the page starts and how many items it has."""
        if request.token is None:
            return None, self.sizes.build(request.size)
        carried = self.signer.parse(self.operation, self.arguments, request.token)
        return cast("str | int", carried.state), self.sizes.build(request.size, carried.size)

    def page(self, found: Sequence[tuple[K, T]], size: int) -> Page[T]:
        """The page of the first `size` of `found` (key and item); more of them make a token."""
        items = tuple(item for _, item in found[:size])
        if len(found) <= size:
            return Page(items)
        continuation = Continuation(found[size - 1][0], size)
        return Page(items, self.signer.render(self.operation, self.arguments, continuation))
