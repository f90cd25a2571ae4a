"""Fixtures of the RDF tests. No tests."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


def _load(name: str) -> ModuleType:
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_SERVER = _load("sparql_server")


@pytest.fixture
def sparql_server() -> Iterator[object]:
    """A SPARQL server on this machine."""
    server = _SERVER.SparqlServer()
    yield server
    server.stop()
