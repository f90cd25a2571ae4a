"""Objects that are built when they are first used, for what a process may never need.

A plugin whose libraries take long to import gives such an object for its seam. A service builds
all when it starts (`load`), so that no request waits for it.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Late(ABC):
    """What is built at the first call of one of its methods."""

    @abstractmethod
    def load(self) -> object:
        """Build it now, unless it is built."""


def build_late(
    base: type[T], build: Callable[[], T], *, close: Callable[[], None], **known: object
) -> T:
    """Build an object of the abstract class `base` whose methods are those of what `build` gives.

    `known` are attributes that are read without it. `close` is its method of this name as long as
    nothing is built.
    """
    lock = threading.Lock()
    found: list[T] = []

    def load(_self: object = None) -> T:
        with lock:
            if not found:
                found.append(build())
        return found[0]

    def end(_self: object) -> None:
        if found:
            cast("Any", found[0]).close()
        else:
            close()

    names = [name for name in dir(base) if not name.startswith("_") and name not in known]
    methods = {name: _build_method(load, name) for name in names if callable(getattr(base, name))}
    members = {**methods, **known, "load": load, "close": end, "__slots__": ()}
    return cast("T", type(f"Late{base.__name__}", (base, Late), members)())


def load_late(*objects: object) -> None:
    """Build those of these objects that are late."""
    for one in objects:
        if isinstance(one, Late):
            one.load()


def _build_method(load: Callable[[], Any], name: str) -> Any:
    def method(_self: object, *values: Any, **named: Any) -> Any:
        return getattr(load(), name)(*values, **named)

    method.__name__ = name
    return method
