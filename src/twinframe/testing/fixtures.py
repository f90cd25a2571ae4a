"""What the fixtures of `twinframe.pytest_plugin` do: opens a graph or service, and loads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from twinframe.library.graph import LocalGraph
from twinframe.library.graph import open as open_local
from twinframe.testing.serving import LocalService, serve

_NAMES: Final = ("models", "files", "settings", "tls")
_STORAGE: Final = {"Storage__Provider": "memory"}


def open_graph(request: pytest.FixtureRequest) -> Iterator[LocalGraph]:
    """Open a graph in memory with what the test's markers name."""
    wanted = _Wanted(request)
    with open_local(settings={**_STORAGE, **wanted.settings}) as graph:
        wanted.load(graph)
        yield graph


def open_service(request: pytest.FixtureRequest) -> Iterator[LocalService]:
    """Serve a graph in memory with what the test's markers name."""
    wanted = _Wanted(request)
    with serve({**_STORAGE, **wanted.settings}, tls=wanted.tls) as service:
        wanted.load(service.graph)
        yield service


class _Wanted:
    """What all markers of a test name, those of its module and class first."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._folder = request.path.parent
        self._models: list[Any] = []
        self._files: list[Any] = []
        self.settings: dict[str, Any] = {}
        self.tls = False
        for marker in reversed(list(request.node.iter_markers("twinframe"))):
            self._add(marker.args, marker.kwargs)

    def load(self, graph: LocalGraph) -> None:
        """Load the models, then the files. Raises `pytest.UsageError` for what is wrong there."""
        if documents := [document for one in self._models for document in self._read_models(one)]:
            graph.create_models(documents)
        for name in self._files:
            loaded = graph.load(self._find(name))
            if loaded.refused:
                raise pytest.UsageError(str(loaded.refused[0]))

    def _add(self, unnamed: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        unknown = [name for name in named if name not in _NAMES]
        if unnamed or unknown:
            raise pytest.UsageError(
                f"@pytest.mark.twinframe takes the arguments {', '.join(_NAMES)} by their names."
            )
        self._models += _build_list(named.get("models", ()))
        self._files += _build_list(named.get("files", ()))
        self.settings.update(named.get("settings", {}))
        self.tls = named.get("tls", self.tls)

    def _read_models(self, given: Any) -> list[Any]:
        if isinstance(given, Mapping):
            return [given]
        path = self._find(given)
        files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        found: list[Any] = []
        for file in files:
            try:
                document = orjson.loads(file.read_bytes())
            except orjson.JSONDecodeError as error:
                raise pytest.UsageError(f"{file} is no JSON: {error}") from error
            found += document if isinstance(document, list) else [document]
        return found

    def _find(self, name: Any) -> Path:
        path: Path = self._folder / name
        if not path.exists():
            raise pytest.UsageError(f"@pytest.mark.twinframe names {path}, which does not exist.")
        return path


def _build_list(given: Any) -> list[Any]:
    return [given] if isinstance(given, str | Path | Mapping) else list(given)
