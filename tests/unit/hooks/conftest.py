"""Installs made-up distributions for the tests of the plugin loader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """A function that puts a distribution with one module and its entry points on the path."""
    monkeypatch.syspath_prepend(tmp_path)

    def build(distribution: str, module: str, source: str, **entries: str) -> None:
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8"
        )
        lines = [f"[twinframe.{group}]\n{entry}\n" for group, entry in entries.items()]
        (info / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
        monkeypatch.syspath_prepend(
            tmp_path
        )  # NOTE: again, so that the import caches see the files

    return build
