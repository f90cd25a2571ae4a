"""The OpenAPI document and the explorer."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from twinframe.http.openapi import build_document
from twinframe.http.operations import SIGNED_IN
from twinframe.http.routes import ROUTES


def test_the_document_is_valid_openapi_31(client: Any) -> None:
    document = client.send("GET", "/openapi.json").json
    assert document["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(document).validate()


def test_every_route_stands_in_the_document_with_its_permission(client: Any) -> None:
    paths = client.send("GET", "/openapi.json").json["paths"]
    for route in ROUTES:
        operation = paths[route.path][route.method.lower()]
        assert operation["operationId"] == route.operation_id
        assert operation.get("x-permission") == route.permission
        assert str(route.answer.status) in operation["responses"]
    assert sum(len(operations) for operations in paths.values()) == len(ROUTES)


def test_operation_ids_are_unique_and_public_routes_are_few() -> None:
    ids = [route.operation_id for route in ROUTES]
    assert len(set(ids)) == len(ids)
    public = {route.path for route in ROUTES if route.permission is None}
    assert public == {
        *("/health/live", "/health/ready", "/openapi.json"),
        *("/swagger", "/swagger/assets/{name}"),
        "/.well-known/oauth-protected-resource",
    }


def test_permissions_follow_the_grammar() -> None:
    for route in ROUTES:
        assert route.permission in (None, SIGNED_IN) or re.fullmatch(
            r"[a-z]+(/[a-z]+)*/(read|write|delete|cancel)", route.permission
        )


def test_the_document_names_the_base_path_it_was_asked_under(client: Any) -> None:
    assert client.send("GET", "/openapi.json").json["servers"] == [{"url": "/"}]
    assert client.send("GET", "/api/openapi.json").json["servers"] == [{"url": "/api"}]


def test_all_that_the_explorer_loads_comes_from_this_service(client: Any) -> None:
    for base in ("", "/api"):
        page = client.send("GET", f"{base}/swagger")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]
        loaded = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
        assert len(loaded) == 4
        for url in loaded:
            assert url.startswith(f"{base}/swagger/assets/")
            assert client.send("GET", url).status == 200
        assert b"<script>" not in page.body


def test_the_explorer_can_show_openapi_31_and_starts_with_our_document(client: Any) -> None:
    script = client.send("GET", "/api/swagger/assets/initializer.js").body.decode()
    assert '"/api/openapi.json"' in script
    bundle = client.send("GET", "/swagger/assets/swagger-ui-bundle.js").body.decode()
    version = re.search(r'PACKAGE_VERSION:"(\d+)\.', bundle)
    assert version is not None
    assert int(version[1]) >= 5  # the first major version that reads 3.1


def test_the_explorer_says_what_to_install_where_its_files_are_missing(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "swagger_ui", None)
    for path in ("/swagger", "/swagger/assets/swagger-ui.css"):
        answered = client.send("GET", path)
        assert (answered.status, answered.code) == (404, "NotFound")
        assert "pip install 'twinframe[swagger]'" in answered.json["error"]["message"]
    assert client.send("GET", "/openapi.json").status == 200


def test_the_explorer_gives_out_no_other_file(client: Any) -> None:
    for name in ("LICENSE", "%2e%2e%2f__init__.py", "..%2F..%2Fpyproject.toml", "x"):
        assert client.send("GET", f"/swagger/assets/{name}").status == 404


def test_a_service_that_asks_for_no_credentials_offers_none() -> None:
    assert "securitySchemes" not in build_document(ROUTES, version="1", base="")["components"]
