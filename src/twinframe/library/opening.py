"""Finds the settings and plugins of a graph that code opens."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from twinframe.errors import InvalidArgument
from twinframe.hooks.installation import Installation, load_installation

MEMORY: Final = ":memory:"
_SUFFIX: Final = ".db"
_PROVIDER: Final = "Storage__Provider"
_GRAPH: Final = "Storage__Graph"
_DIRECTORY: Final = "Storage__Sqlite__Directory"


def build_installation(
    path: str | os.PathLike[str] | None, settings: Mapping[str, Any] | None
) -> Installation:
    """Find the plugins and settings of a graph: of a file, of settings, or else in memory.

    Errors: `InvalidArgument` for a path that no graph can have, `SettingsError`, `PluginError`.
    """
    is_needed = path is not None or settings is None
    named = _name_storage(MEMORY if path is None else os.fspath(path)) if is_needed else {}
    if settings is os.environ:
        return load_installation(None, os.environ, given=named)
    given = _join(settings or {}, named)
    return _load(tuple((name, _render(name, value)) for name, value in given.items()))


@lru_cache(maxsize=8)
def _load(given: tuple[tuple[str, str], ...]) -> Installation:
    """Load an installation. PERF: 15 ms for looking at the entry points of all packages."""
    return load_installation(None, {}, given=dict(given))


def _name_storage(path: str) -> dict[str, str]:
    if path == MEMORY:
        return {_PROVIDER: "memory"}
    file = Path(path)
    if file.suffix != _SUFFIX:
        raise InvalidArgument(
            f"{path!r} is no file of a graph: its name ends in {_SUFFIX}, such as campus{_SUFFIX}. "
            "Other storages are named by settings."
        )
    return {_PROVIDER: "sqlite", _DIRECTORY: str(file.parent.absolute()), _GRAPH: file.stem}


def _join(given: Mapping[str, Any], named: Mapping[str, str]) -> dict[str, Any]:
    folded = {name.casefold(): name for name in given}
    for name in named:
        if name.casefold() in folded:
            raise InvalidArgument(
                f"The path names the storage, and so does the setting {folded[name.casefold()]}. "
                "Give one of them."
            )
    return {**given, **named}


def _render(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"The setting {name} cannot be {value!r}: {error}.") from error
