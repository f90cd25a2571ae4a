"""Fixtures of the RDF tests. No tests."""

from __future__ import annotations

import sys
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
    sys.modules[name] = module  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module


_SERVER = _load("sparql_server")
_REAL = _load("real_servers")


@pytest.fixture
def sparql_server() -> Iterator[object]:
    """A SPARQL server on this machine."""
    server = _SERVER.SparqlServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def real_servers() -> ModuleType:
    """The module that runs real SPARQL servers."""
    return _REAL


def _run(name: str, factory: pytest.TempPathFactory) -> Iterator[object]:
    with _REAL.RUNNERS[name](factory.mktemp(name)) as server:
        yield server


@pytest.fixture(scope="session")
def virtuoso(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A running Virtuoso."""
    yield from _run("virtuoso", tmp_path_factory)


@pytest.fixture(scope="session")
def oxigraph_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A running Oxigraph server."""
    yield from _run("oxigraph", tmp_path_factory)
