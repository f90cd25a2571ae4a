"""Writes the graph as RDF for `twinframe export --format`, with the same bytes as GET /export."""

from __future__ import annotations

from typing import IO, Final

from twinframe.hooks.installation import Installation
from twinframe.service import open_graph
from twinframe.storage.triples import GRAPH_SYNTAXES, Content, Syntax

SYNTAXES: Final = {syntax.name: syntax for syntax in GRAPH_SYNTAXES}
"""The formats by their name in the option and in the parameter `format` of GET /export."""


async def export_triples(
    installation: Installation, store: str, syntax: Syntax, out: IO[bytes]
) -> int:
    """Write the stored graph of this name; return the number of bytes.

    Raises the errors of an export: `Unsupported` without a plugin that writes RDF, and the limits
    of `Export__Timeout` and `Export__MaxBytes`.
    """
    size = 0
    async with open_graph(installation, store) as opened:
        stream = await opened.triples.export_graph(syntax, Content.ALL)
        try:
            while piece := await stream.read():
                size += out.write(piece)
        finally:
            await stream.close()
    return size
