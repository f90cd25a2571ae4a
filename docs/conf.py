"""The documentation as a site, which `make site` builds with Sphinx from the repository's Markdown.

The pages keep their paths, so that a link works in the site, in the repository and in an editor.
"""

from __future__ import annotations

from importlib.metadata import version as read_version
from pathlib import Path

from sphinx.application import Sphinx

project = "twinframe"
version = release = read_version("twinframe")
copyright = "the authors of twinframe"  # noqa: A001  (Sphinx reads this name)

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md", "plugins/*/README.md"]
exclude_patterns = [".*", "**/.*", "**/node_modules", "benchmarks", "deploy", "src", "tests", "var"]
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = "twinframe"
html_copy_source = False
html_show_sourcelink = False
myst_heading_anchors = 6
pygments_style = "friendly"

_SECTIONS = {
    "Tutorials": "docs/tutorial/*",
    "How to": "docs/how-to/*",
    "Reference": "docs/reference/*",
    "Plugins": "plugins/*/README",
    "Background": "docs/architecture\ndocs/glossary\ndocs/benchmarks\ndocs/scale\n"
    "docs/decisions/README",
    "Project": "CONTRIBUTING\nCHANGELOG",
}


def _add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add the table of contents, which the repository's own pages do not need."""
    del app
    if docname == "README":
        source[0] += "".join(
            f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{pages}\n```\n"
            for caption, pages in _SECTIONS.items()
        )
    elif docname == "docs/decisions/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n"


def _write_index(app: Sphinx, error: Exception | None) -> None:
    """Make the first page the one that a web server gives out for the folder."""
    if error is None:
        first = Path(app.outdir) / "README.html"
        (Path(app.outdir) / "index.html").write_bytes(first.read_bytes())


def setup(app: Sphinx) -> None:
    """Connect what the settings above cannot say."""
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _write_index)
