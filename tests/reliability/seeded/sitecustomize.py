"""Python runs this at its start when `seeded/` is on its path: it puts one fault into the process.

`TWINFRAME_SEEDED_FAULT` names it, and `TWINFRAME_SEEDED_RELEASE` makes the process one of a later
release (`releases`). The modules of the service are patched as they are imported.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Seeder(MetaPathFinder):
    """Finds one module as usual, and patches it once it is loaded."""

    def __init__(self, target: str, patch: Callable[[Any], None]) -> None:
        self._target = target
        self._patch = patch

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The usual spec with another end of its loading; None for all other modules."""
        del path, target
        if fullname != self._target:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            raise ImportError(f"{fullname} is gone: the fault cannot be seeded", name=fullname)
        load = spec.loader.exec_module

        def load_and_patch(module: ModuleType) -> None:
            load(module)
            self._patch(module)

        spec.loader.exec_module = load_and_patch  # type: ignore[method-assign]
        return spec


release = os.environ.get("TWINFRAME_SEEDED_RELEASE", "")
if release:
    from releases import migrate_further

    sys.meta_path.insert(
        0,
        Seeder(
            "twinframe_storage_postgres.opening", lambda module: migrate_further(module, release)
        ),
    )

name = os.environ.get("TWINFRAME_SEEDED_FAULT", "")
if name:
    from faults import FAULTS

    for module, patch in FAULTS.get(name, ()):
        sys.meta_path.insert(0, Seeder(module, patch))
