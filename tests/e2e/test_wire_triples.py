"""What stands open of RDF in a service as it comes: exports, and no SPARQL."""

from __future__ import annotations

import pytest

from tests.e2e.wire import Wire


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_sparql_is_off_unless_it_is_switched_on(wire: Wire, method: str) -> None:
    status, headers, answer = wire.call(method, "/sparql?query=ASK%7B%7D")
    assert status == 404
    assert headers["x-ms-error-code"] == "NotFound"
    assert "Sparql__Enabled" in answer["error"]["message"]


def test_the_document_of_the_api_names_the_routes_of_triples(wire: Wire) -> None:
    paths = wire.call("GET", "/openapi.json")[2]["paths"]
    assert set(paths["/sparql"]) == {"get", "post"}
    assert set(paths["/sparql"]["post"]["requestBody"]["content"]) == {
        "application/sparql-query",
        "application/x-www-form-urlencoded",
    }
    assert "406" in paths["/export"]["get"]["responses"]
