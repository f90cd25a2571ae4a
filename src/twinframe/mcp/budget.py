"""Limits the size of an answer: whole rows up to a number of bytes, shortened values, and a token
to continue.

A function supplies the pages. Every omission is reported in the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import orjson

from twinframe.model.values import JsonValue

LONGEST_VECTOR: Final = 64
LONGEST_TEXT: Final = 1000
_SMALL_TEXT: Final = 100
_MOST_FETCHES: Final = 20
_FILTERED_AT_ONCE: Final = 200
_METADATA: Final = "$metadata"
_MODEL: Final = "$model"

Fetch: TypeAlias = Callable[[str | None, int], Awaitable["Fetched"]]
"""Returns a page after a token (None: the first) of at most this many rows."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Rows of a page as JSON texts, and the token of what follows them; None after the last."""

    rows: Sequence[bytes]
    token: str | None


@dataclass(slots=True)
class Shortening:
    """The rules for shortening values, and the paths of the shortened ones.

    `full` leaves vectors and long texts unchanged, and all of `$metadata`; else of a twin's
    `$metadata` only `$model` is kept, which is all that an assistant needs of it.
    """

    full: bool = False
    longest_text: int = LONGEST_TEXT
    longest_list: int | None = None
    paths: dict[str, None] = field(default_factory=dict)

    def shorten(self, value: JsonValue, path: str = "") -> JsonValue:
        """Return the value with long ones replaced: `{"$vector": n}`, or a text's beginning and its
        length.
        """
        if isinstance(value, str):
            return value if self.full else self._shorten_text(value, path)
        if isinstance(value, list):
            return self._shorten_list(value, path)
        if isinstance(value, dict):
            return {
                name: kept
                for name, member in value.items()
                if (kept := self._shorten_member(name, member, path)) is not _LEFT_OUT
            }
        return value

    def _shorten_member(self, name: str, member: JsonValue, path: str) -> JsonValue:
        if name == _METADATA and isinstance(member, dict) and not self.full:
            return {_MODEL: member[_MODEL]} if _MODEL in member else _LEFT_OUT
        return self.shorten(member, f"{path}/{name}")

    def _shorten_text(self, value: str, path: str) -> JsonValue:
        if len(value) <= self.longest_text:
            return value
        self.paths[path] = None
        return f"{value[: self.longest_text]}… ({len(value)} characters)"

    def _shorten_list(self, value: list[JsonValue], path: str) -> JsonValue:
        if not self.full and len(value) > LONGEST_VECTOR and all(map(_is_number, value)):
            self.paths[path] = None
            return {"$vector": len(value)}
        shown = value if self.longest_list is None else value[: self.longest_list]
        items = [self.shorten(item, path) for item in shown]
        if len(shown) < len(value):
            self.paths[path] = None
            items.append(f"… ({len(value)} items)")
        return items


_LEFT_OUT: Final[dict[str, JsonValue]] = {}


@dataclass(slots=True)
class Taken:
    """Rows that fit into an answer.

    `token` continues after the last one; None: there are no more.
    """

    rows: list[JsonValue] = field(default_factory=list)
    token: str | None = None
    size: int = 0

    def build_page(self, name: str) -> dict[str, JsonValue]:
        """Build the answer of a listing: the rows under this name, and where to go on."""
        return {
            name: self.rows,
            "truncated": self.token is not None,
            "continuation_token": self.token,
        }


@dataclass(slots=True)
class Budget:
    """Takes rows until there are `rows` of them, or `size` bytes.

    One row is always returned, however long, so that each answer makes progress: shortened if
    necessary. With `keeps` only the rows that it accepts are returned.
    """

    rows: int
    size: int
    shortening: Shortening
    keeps: Callable[[JsonValue], bool] | None = None

    async def take(self, fetch: Fetch, token: str | None = None) -> Taken:
        """Return the rows after `token` that fit.

        NOTE: a token always continues after a whole page. Where bytes end within one, that page is
        fetched again with as many rows as fit, and the rows returned are those that came with its
        token: so no row is lost or repeated, even with concurrent writes.
        """
        taken = Taken(token=token)
        for _ in range(_MOST_FETCHES):
            wanted = self.rows - len(taken.rows) if self.keeps is None else _FILTERED_AT_ONCE
            page = await fetch(taken.token, wanted)
            added, fitting = self._measure(page, taken)
            while added is None and fitting:
                page = await fetch(taken.token, fitting)
                added, fitting = self._measure(page, taken)
            if added is None:
                return taken  # not even the page's first row fits after those of the pages before
            taken = added
            if taken.token is None or len(taken.rows) >= self.rows or taken.size >= self.size:
                return taken
        return taken

    def cut(self, row: JsonValue) -> JsonValue:
        """Return a value that fits by itself: shortened, then more so, at last replaced by its
        size.
        """
        for shortening in (
            self.shortening,
            Shortening(paths=self.shortening.paths),
            Shortening(False, _SMALL_TEXT, _SMALL_TEXT // 10, self.shortening.paths),
        ):
            short = shortening.shorten(row)
            if measure(short) <= self.size:
                return short
        self.shortening.paths[""] = None
        return {"$omitted": f"{measure(row)} bytes: ask for less of it, by a query that names it"}

    def _measure(self, page: Fetched, taken: Taken) -> tuple[Taken | None, int]:
        """Return all rows of the page after those taken; or None, and how many of its rows fit."""
        rows, size = list(taken.rows), taken.size
        for at, body in enumerate(page.rows):
            row: JsonValue = orjson.loads(body)
            if self.keeps is not None and not self.keeps(row):
                continue
            if len(rows) == self.rows:
                return None, at
            short = self.shortening.shorten(row)
            length = measure(short) + 1
            if size + length > self.size:
                if rows:
                    return None, at
                short = self.cut(row)
                length = measure(short) + 1
            rows.append(short)
            size += length
        return Taken(rows, page.token, size), len(page.rows)


def measure(value: JsonValue) -> int:
    """Return the bytes of the value as compact JSON."""
    return len(orjson.dumps(value))


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
