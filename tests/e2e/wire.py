"""A plain HTTP client for load: one kept connection, statuses as numbers; nothing of the SDK."""

from __future__ import annotations

import http.client
import json
from typing import Any

Json = Any


class Wire:
    """One keep-alive connection to a server on loopback."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def call(
        self, method: str, path: str, body: Json = None, **headers: str
    ) -> tuple[int, dict[str, str], Json]:
        """Send one request; header names are written with `_` for `-`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            kind = "application/json-patch+json" if method == "PATCH" else "application/json"
            sent.setdefault("Content-Type", kind)
        self._connection.request(method, path, data, sent)
        with self._connection.getresponse() as answer:
            raw = answer.read()
        document = json.loads(raw) if raw else None
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, document

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


COUNTER_MODEL = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Counter;1",
    "@type": "Interface",
    "contents": [
        {"@type": "Property", "name": "value", "schema": "long"},
        {"@type": "Relationship", "name": "next"},
    ],
}


def counter(value: int) -> Json:
    """The body of a counter's PUT."""
    return {"$metadata": {"$model": COUNTER_MODEL["@id"]}, "value": value}
