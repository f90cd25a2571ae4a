"""Reads the files of the built page from their directory into memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from twinframe.hooks.sites import Content, build_content

PACKAGED: Final = Path(__file__).resolve().parent / "assets"
"""The directory of the page that the distribution contains."""

PAGE: Final = "index.html"
HASHED: Final = "assets"
"""The folder whose files have a hash of their content in their names."""

_CODINGS: Final = {".br": "br", ".gz": "gzip"}
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
_LINK: Final = re.compile(rf'(?:src|href)="\./({HASHED}/[^"]+)"')
_OTHER: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Assets:
    """The text of the page, and the other files by their path relative to the directory (`/`
    between).
    """

    page: str
    files: Mapping[str, Content]


def read_assets(directory: Path, policy: str) -> Assets | None:
    """Read all files of a built page; None if the page is missing or incomplete.

    `policy` is the Content-Security-Policy of its files: scripts in workers have their own.
    Compressed forms of a file (`.br`, `.gz`) are read with it, where they exist.
    """
    try:
        page = (directory / PAGE).read_text(encoding="utf-8")
        # PERF: each request tries again while the page is missing, so the rest is not read first.
        if not all((directory / name).is_file() for name in _LINK.findall(page)):
            return None
        found = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    except OSError:
        return None
    files: dict[str, Content] = {}
    for path, body in found.items():
        if path.suffix in _CODINGS and path.with_suffix("") in found:
            continue
        name = path.relative_to(directory).as_posix()
        if name != PAGE:
            codings = {
                coding: found[packed]
                for suffix, coding in _CODINGS.items()
                if (packed := path.with_name(path.name + suffix)) in found
            }
            files[name] = build_content(
                body,
                _TYPES.get(path.suffix, _OTHER),
                codings=codings,
                lasting=name.startswith(f"{HASHED}/"),
                policy=policy,
            )
    # NOTE: a build in progress may have written the page, but not yet the files it refers to.
    return Assets(page, files) if files.keys() >= set(_LINK.findall(page)) else None
