"""The sample campus as NDJSON in the sections of import jobs, for the page to load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from twinframe.demo.building import build_campus, load_ontology


def render_sample() -> bytes:
    """Render models, twins and relationships of the campus of `twinframe demo`."""
    return b"".join(orjson.dumps(line) + b"\n" for line in _list_lines())


def _list_lines() -> Iterator[Mapping[str, object]]:
    campus = build_campus()
    yield {"Section": "Header"}
    yield {"fileVersion": "1.0.0", "author": "twinframe", "organization": "sample campus"}
    yield {"Section": "Models"}
    yield from load_ontology()
    yield {"Section": "Twins"}
    yield from campus.list_twins()
    yield {"Section": "Relationships"}
    for edge in campus.edges:
        yield {"$dtId": edge.source, "$relationshipId": edge.id, **edge.document}
