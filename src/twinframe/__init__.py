"""The names that code imports from twinframe, a digital-twin graph service.

`twinframe.open("campus.db")` and `open_async` open a graph in this process: see
`help(twinframe.open)` and `help(twinframe.LocalGraph)`. `hookimpl` is for plugins. The library is
imported when one of its names is used first. `__init__.pyi` declares all names for type checkers.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version

from pluggy import HookimplMarker

__version__ = version("twinframe")

hookimpl = HookimplMarker("twinframe")
"""Marks a function of a plugin as an implementation of one of `twinframe.hooks.specs`."""

_LIBRARY = (
    "AsyncLocalGraph",
    "AsyncTransaction",
    "LocalGraph",
    "Result",
    "Transaction",
    "open",
    "open_async",
)


def __getattr__(name: str) -> object:
    """Return a name of the library. PERF: importing it takes ten times as long as this package."""
    if name in _LIBRARY:
        return getattr(import_module("twinframe.library"), name)
    raise AttributeError(f"module 'twinframe' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LIBRARY})
