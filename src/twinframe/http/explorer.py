"""The interactive API explorer: its page, its files and the OpenAPI document it shows.

The files come from an installed package, never from another host; the page runs no inline script.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from twinframe.http.errors import RouteNotFound

ASSETS = {
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "favicon-32x32.png": "image/png",
}


class Explorer:
    """Files and documents. `build` makes the OpenAPI document for a base path as called."""

    def __init__(self, build: Callable[[str], dict[str, Any]]) -> None:
        self._build = build
        self._documents: dict[str, bytes] = {}
        self._files: dict[str, bytes] = {}

    def render_document(self, base: str) -> bytes:
        """Return the OpenAPI document as JSON text; it is built once per base path."""
        found = self._documents.get(base)
        if found is None:
            found = orjson.dumps(self._build(base))
            if len(self._documents) < 8:  # the base path may be called in any letter case
                self._documents[base] = found
        return found

    def require_files(self) -> None:
        """Raise `RouteNotFound` where the package with the explorer's files is not installed."""
        _find_assets()

    def read_file(self, name: str) -> bytes:
        """Return a file of the explorer. Raises `RouteNotFound` for an unknown name."""
        if name not in ASSETS:
            raise RouteNotFound(f"The explorer has no file {name!a}.")
        found = self._files.get(name)
        if found is None:
            found = self._files[name] = (_find_assets() / name).read_bytes()
        return found


def _find_assets() -> Path:
    # NOTE: only the package's files are used; importing it would load web frameworks.
    found = importlib.util.find_spec("swagger_ui")
    if found is None or not found.submodule_search_locations:
        raise RouteNotFound(
            "The page to try out operations is not installed: pip install 'twinframe[swagger]'. "
            "The operations are described at /openapi.json."
        )
    return Path(found.submodule_search_locations[0]) / "static"
