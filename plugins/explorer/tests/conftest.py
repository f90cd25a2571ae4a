"""A small built page, and a service that has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from twinframe.hooks.sites import ServiceFacts

PAGE = """<!doctype html>
<html lang="en">
  <head>
    <link rel="icon" href="./icon.svg" />
    <script type="module" crossorigin src="./assets/index-abc.js"></script>
    <link rel="stylesheet" href="./assets/index-def.css">
  </head>
  <body><div id="root"></div></body>
</html>
"""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A directory as the build leaves it."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    (folder / "icon.svg").write_bytes(b"<svg/>")
    (folder / "assets/index-abc.js").write_bytes(b"let a;")
    (folder / "assets/index-abc.js.br").write_bytes(b"squeezed")
    (folder / "assets/index-abc.js.gz").write_bytes(b"zipped")
    (folder / "assets/index-def.css").write_bytes(b"a{}")
    return folder


@pytest.fixture
def service() -> ServiceFacts:
    """A service that asks for tokens and has a control plane elsewhere."""
    return ServiceFacts(
        version="1.2.3",
        asks=True,
        takes_tokens=True,
        authority="https://id.example/tenant",
        audience="https://twins.example",
        scopes=("twins",),
        control="https://control.example/api/v1",
        control_audience="https://control.example",
        control_scopes=("access:platform", "twins"),
        hosting=True,
        events=False,
        heartbeat=15.0,
    )
