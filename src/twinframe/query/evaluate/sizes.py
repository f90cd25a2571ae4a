"""Estimates the memory of a value in bytes, for accounting."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, Final

from twinframe.model.values import Node, Path, Relationship

WORD: Final = 32
_CONTAINER: Final = 88
_ENTRY: Final = 24
_ELEMENT: Final = 8
_ENTITY: Final = 160
_MANY: Final = 32
_MAPS: Final = {dict}
_MOST_ENTRIES: Final = 100_000


def measure(value: Any, most: int) -> int:
    """Return the bytes of a value with everything in it, each part as often as it occurs.

    It stops beyond `most`. PERF: 0.1 us a member, half of it in a list of flat maps; names of
    members are shared and not counted.
    """
    kind = type(value)
    if kind is str:
        return value.__sizeof__()  # type: ignore[no-any-return]  # a string's size is an integer
    if kind not in _LARGE:
        return WORD
    size = 0
    waiting = [value]
    while waiting and size <= most:
        one = waiting.pop()
        kind = type(one)
        members: Iterable[Any]
        if kind is dict:
            size += _CONTAINER + _ENTRY * len(one)
            members = one.values()
        elif kind is list:
            size += _CONTAINER + _ELEMENT * len(one)
            members = one
            if len(one) > _MANY and set(map(type, one)) == _MAPS:
                entries = sum(map(len, one))
                if entries < _MOST_ENTRIES:
                    size += _CONTAINER * len(one) + _ENTRY * entries
                    members = [*chain.from_iterable(map(dict.values, one))]
                    texts = [each for each in members if type(each) is str]
                    if _LARGE.isdisjoint(map(type, members)):
                        size += WORD * (entries - len(texts)) + sum(map(str.__sizeof__, texts))
                        continue
        elif kind is Path:
            members = (*one.nodes, *one.relationships)
        else:
            size += _ENTITY
            members = (one.document,)
        for member in members:
            kind = type(member)
            if kind is str:
                size += member.__sizeof__()
            elif kind in _LARGE:
                waiting.append(member)
            else:
                size += WORD
    return size


_LARGE: Final = frozenset({list, dict, Node, Relationship, Path})
