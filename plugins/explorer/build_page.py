"""Stops the build of a wheel without the page in it. It builds no page: `make explorer` does."""

# ruff: noqa: INP001 -- it is run by the build, from where it lies
from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PAGE = "src/twinframe_explorer/assets/index.html"


class PageHook(BuildHookInterface):
    """Looks whether the page was built; an editable install does without."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raise `RuntimeError` for a wheel that would hold no page."""
        del build_data
        if version != "editable" and not (Path(self.root) / _PAGE).is_file():
            raise RuntimeError(
                "The explorer's page is not built, and a wheel without it is of no use. Run "
                "`make explorer` first, which needs Node.js 20 or later; or, in plugins/explorer/"
                "web, `npm ci` and `npm run build`."
            )
