"""The graph that is attacked: a thousand counters, a clique of thirty, and 200 twins of 1 MB."""

from __future__ import annotations

from typing import Final

from tests.e2e.wire import counter
from tests.reliability.load import fill
from tests.reliability.traffic import Line, add_model

CLIQUE: Final = 30
LARGE: Final = 200

LARGE_MODEL = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Large;1",
    "@type": "Interface",
    "contents": [
        {"@type": "Property", "name": "text", "schema": "string"},
        {
            "@type": "Property",
            "name": "entries",
            "schema": {
                "@type": "Map",
                "mapKey": {"name": "key", "schema": "string"},
                "mapValue": {"name": "value", "schema": "string"},
            },
        },
    ],
}


def prepare(port: int) -> None:
    """Load the graph."""
    fill(port)  # counters t0 … t999
    add_model(port, LARGE_MODEL)
    line = Line(port, timeout=120)
    clique = [{"$dtId": f"n{number}", **counter(number)} for number in range(CLIQUE)]
    status, _, body = line.call("POST", "/digitaltwins", clique)
    assert status == 200, body
    edges = [
        {
            "$sourceId": f"n{source}", "$relationshipId": f"r{target}",
            "$relationshipName": "next", "$targetId": f"n{target}",
        }
        for source in range(CLIQUE) for target in range(CLIQUE) if source != target
    ]  # fmt: skip
    status, _, body = line.call("POST", "/relationships", edges)
    assert status == 200, body
    text = "x" * (1024 * 1024 - 300)
    for number in range(LARGE):
        twin = {"$metadata": {"$model": LARGE_MODEL["@id"]}, "text": text}
        status, _, body = line.call("PUT", f"/digitaltwins/large{number}", twin)
        assert status == 200, body
    line.close()
