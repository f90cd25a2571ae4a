"""Fixtures for tests of code that uses a graph: `twinframe_graph` and `twinframe_service`.

pytest loads this module where twinframe is installed. PERF: it imports nothing of twinframe before
a fixture is used.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from twinframe.library import LocalGraph
    from twinframe.testing.serving import LocalService

_MARKER = (
    "twinframe(models=(), files=(), settings={}, tls=False): what the graph of this test has: "
    "models (files and folders of DTDL, or interfaces), files and folders that its `load` reads, "
    "and settings; with tls, its service is served by https"
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def twinframe_graph(request: pytest.FixtureRequest) -> Iterator[LocalGraph]:
    """Open a graph in memory for this test, with what its marker `twinframe` names."""
    yield from _load().open_graph(request)


@pytest.fixture
def twinframe_service(request: pytest.FixtureRequest) -> Iterator[LocalService]:
    """Serve a graph in memory for this test on a free port, with what its marker names."""
    yield from _load().open_service(request)


@cache
def _load() -> Any:
    """Import what the fixtures do, and 900 modules with it.

    PERF: in half of the time. pytest rewrites the assertions of all modules of a distribution that
    has a plugin, and the garbage collector looks through what they define over and over.
    """
    finders, collects = sys.meta_path[:], gc.isenabled()
    sys.meta_path[:] = [one for one in finders if not type(one).__module__.startswith("_pytest.")]
    gc.disable()
    try:
        return import_module("twinframe.testing.fixtures")
    finally:
        sys.meta_path[:] = finders
        if collects:
            gc.enable()
