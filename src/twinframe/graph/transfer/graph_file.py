"""Files of the vendor's explorer, which hold a graph as one JSON document, as lines of an import.

SPEC: https://github.com/Azure-Samples/digital-twins-explorer. `digitalTwinsFileInfo` has the
version, `digitalTwinsModels` the models, and `digitalTwinsGraph` the `digitalTwins` and the
`relationships`, each as the data plane gives it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from twinframe.errors import ImportFileInvalid
from twinframe.runtime.memory import Hold

PATHS: Final[Mapping[str, str]] = {
    "Models": "digitalTwinsModels",
    "Twins": "digitalTwinsGraph.digitalTwins",
    "Relationships": "digitalTwinsGraph.relationships",
}
"""The path of the rows of each section in such a file."""
_BEGIN: Final = re.compile(rb'\s*\{\s*"digitalTwins(?:FileInfo|Graph|Models)"')
_PREFIX: Final = b'{"digitalTwins'
_HEAD_BYTES: Final = 64
"""The most that is looked at to tell such a file."""
_MOST_BYTES: Final = 32 << 20
"""Such a file is read as a whole: its models come last, and an import needs them first."""
_COPIES: Final = 8
"""Memory of such a file as a multiple of its text."""


def unfold_graph_file(
    pieces: Iterable[bytes], held: Hold, report: Callable[[], None]
) -> Iterator[bytes]:
    """Yield the bytes of a file as they are, or those of the lines that an import reads.

    `report` is called before the first of these lines: they are counted as if the file had the
    header, the models, the twins and the relationships one by one, so that the rows of a section
    are the lines after its own. `held` is grown by what is in memory. Errors: `ImportFileInvalid`
    and those of `Hold.grow`.
    """
    begun = iter(pieces)
    head = next(begun, b"")
    while len(head) < _HEAD_BYTES and _may_begin(head) and (more := next(begun, b"")):
        head += more
    if _BEGIN.match(head) is None:
        yield head
        yield from begun
        return
    with held:
        held.grow(_COPIES * len(head))
        parts, size = [head], len(head)
        for piece in begun:
            size += len(piece)
            if size > _MOST_BYTES:
                raise ImportFileInvalid(
                    f"A graph as one JSON document has at most {_MOST_BYTES} bytes. Give a larger "
                    "one as lines of JSON, in the form of exports."
                )
            held.grow(_COPIES * len(piece))
            parts.append(piece)
        try:
            document = orjson.loads(b"".join(parts))
        except orjson.JSONDecodeError as error:
            raise ImportFileInvalid(f"The file is no JSON: {error}.") from None
        report()
        yield from _render_lines(document)


def _render_lines(document: dict[str, Any]) -> Iterator[bytes]:
    graph = document.get("digitalTwinsGraph", {})
    if not isinstance(graph, dict):
        raise ImportFileInvalid(
            "'digitalTwinsGraph' must be an object with 'digitalTwins' and 'relationships'."
        )
    header = document.get("digitalTwinsFileInfo", {"fileVersion": "1.0.0"})
    edges = graph.get("relationships")
    sections = (
        ("Header", "digitalTwinsFileInfo", [header]),
        ("Models", "digitalTwinsModels", document.get("digitalTwinsModels")),
        ("Twins", "digitalTwins", graph.get("digitalTwins")),
        ("Relationships", "relationships", edges),
    )
    for section, member, found in sections:
        rows = [] if found is None else found
        if not isinstance(rows, list):
            raise ImportFileInvalid(f"'{member}' must be an array.")
        yield orjson.dumps({"Section": section}) + b"\n"
        for row in rows:
            # SPEC: in a line, the source of a relationship is its `$dtId`.
            if rows is edges and isinstance(row, dict) and "$sourceId" in row:
                row["$dtId"] = row.pop("$sourceId")
            yield orjson.dumps(row) + b"\n"


def _may_begin(head: bytes) -> bool:
    """Return whether more bytes can make it the beginning of such a file."""
    return _PREFIX.startswith(b"".join(head.split())[: len(_PREFIX)])
