"""twinframe as a library: opens a graph in the process of a script, notebook or test.

Its names are imported from `twinframe` itself, which loads this package when one is used first.
"""

from __future__ import annotations

from twinframe.library.asynchronous import (
    AsyncLocalGraph,
    AsyncTransaction,
    Imported,
    open_async,
)
from twinframe.library.graph import (
    LocalGraph,
    Transaction,
    open,  # noqa: A004  (`twinframe.open`, as users call it)
)
from twinframe.library.loading import Loaded
from twinframe.library.results import Result

__all__ = [
    "AsyncLocalGraph",
    "AsyncTransaction",
    "Imported",
    "Loaded",
    "LocalGraph",
    "Result",
    "Transaction",
    "open",
    "open_async",
]
