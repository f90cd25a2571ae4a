"""Finds the lines and columns of JSON pointers in a text known to be JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

# PERF: strings and other scalars are one match each, so that the loop runs once a token.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a text; lines and columns count from 1, columns in characters."""

    line: int
    column: int


@dataclass(slots=True)
class _Level:
    """An open object or array: its pointer and the current member."""

    pointer: str
    is_object: bool
    index: int = 0
    key: str | None = None

    def step(self) -> str:
        """Return the pointer of the current member."""
        member = self.key if self.is_object and self.key is not None else str(self.index)
        return f"{self.pointer}/{member.replace('~', '~0').replace('/', '~1')}"


def find_positions(text: str, pointers: Collection[str]) -> dict[str, Position]:
    """Return the position of every RFC 6901 pointer that has a value in `text`, which is JSON.

    For a member of an object it is that of the key, where a reader looks for it. For a key that an
    object has twice it is the last, which is the one that counts.
    """
    wanted = set(pointers)
    offsets = {pointer: start for pointer, start in _list_offsets(text) if pointer in wanted}
    return build_positions(text, offsets)


def build_positions(text: str, offsets: dict[str, int]) -> dict[str, Position]:
    """Return line and column of offsets into a text."""
    positions: dict[str, Position] = {}
    line, start = 1, 0
    for pointer, offset in sorted(offsets.items(), key=lambda item: item[1]):
        line += text.count("\n", start, offset)
        start = offset
        positions[pointer] = Position(line, offset - text.rfind("\n", 0, offset))
    return positions


def _list_offsets(text: str) -> Iterator[tuple[str, int]]:
    levels: list[_Level] = []
    for match in _TOKEN.finditer(text):
        lexeme = match[0]
        level = levels[-1] if levels else None
        if lexeme in "]}":
            levels.pop()
        elif lexeme == ",":
            if level is not None:
                level.index += 1
                level.key = None
        elif lexeme == ":":
            continue
        elif level is not None and level.is_object and level.key is None:
            level.key = json.loads(lexeme, strict=False)
            yield level.step(), match.start()
        else:
            pointer = "" if level is None else level.step()
            if level is None or not level.is_object:
                yield pointer, match.start()
            if lexeme in "[{":
                levels.append(_Level(pointer, lexeme == "{"))
