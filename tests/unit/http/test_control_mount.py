"""The control plane beside the graph API, what browsers need of it, and what guards it."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.unit.control.http.control_world import World
from twinframe.control.http.api_context import Admission
from twinframe.control.http.application import MountedControl, build_resource
from twinframe.control.http.routes import CONTROL_ROUTES
from twinframe.errors import Unauthenticated
from twinframe.http.application import build_application
from twinframe.http.exchange import SCOPE_KEY


class Beside(World):
    """A world whose control plane is served inside the graph API's service."""

    def __init__(self, graph: Any, **sections: Any) -> None:
        super().__init__(**sections)
        mounted = MountedControl(self.plane, self.settings, self.gate)
        self.app = build_application(
            graph,
            self.settings,
            gate=self.gate,
            mounted=[mounted],
            resources=(build_resource(self.settings),),
            build_error=mounted.build_error,
        )


@pytest.fixture
def beside(served: ModuleType) -> Iterator[Beside]:
    made = Beside(served.FakeGraph())
    yield made
    made.close()


@pytest.fixture
def world() -> Iterator[World]:
    made = World(cors={"origins": ["https://app.example"]})
    yield made
    made.close()


def test_one_service_answers_for_both_planes_each_in_its_own_form(beside: Beside) -> None:
    beside.build_tenant("acme")
    assert beside.send("GET", "/projects/acme-prj", "acme-owner").json["name"] == "acme"
    for target in ("//API/V1/projects", "//api/v1/projects/"):
        assert beside.send("GET", target, "acme-owner").json["total"] == 1
    missing = beside.send("GET", "//api/digitaltwins/nobody", "acme-owner")
    assert missing.json["error"]["code"] == "DigitalTwinNotFound"
    assert beside.send("GET", "//digitaltwins/nobody", "acme-owner").body == missing.body
    assert beside.send("GET", "//v1/projects", "acme-owner").json["error"]["code"] == "NotFound"
    assert beside.send("GET", "//api/v1projects", "acme-owner").json["error"]["code"] == "NotFound"
    assert set(beside.send("GET", "/nothing", "acme-owner").json) == {"error"}


def test_errors_outside_of_any_route_have_the_form_that_the_path_calls_for(beside: Beside) -> None:
    control = beside.send("GET", "/projects/%zz", "root")
    assert (control.status, set(control.json)) == (400, {"error", "details", "findings"})
    graph = beside.send("GET", "//digitaltwins/%zz", "root")
    assert (graph.status, graph.json["error"]["code"]) == (400, "InvalidArgument")


def test_both_planes_are_discovered_each_with_its_scopes(beside: Beside) -> None:
    place = "//.well-known/oauth-protected-resource"
    control = beside.send("GET", f"{place}/api/v1", None).json
    assert control["resource"] == "https://localhost/api/v1"
    assert control["scopes_supported"] == ["access:platform"]
    assert beside.send("GET", place, None).json["scopes_supported"] != ["access:platform"]
    refused = beside.send("GET", "/projects", None).json
    assert refused["resource_metadata"].endswith("/oauth-protected-resource/api/v1")
    refused = beside.send("GET", "//digitaltwins/a", None).json
    assert refused["resource_metadata"].endswith("/oauth-protected-resource")


def test_the_explorer_of_each_plane_shows_its_own_document(beside: Beside) -> None:
    for prefix in ("/api/v1", "", "/api"):
        page = beside.send("GET", f"/{prefix}/swagger", None).body.decode()
        assert f'src="{prefix}/swagger/assets/initializer.js"' in page
        script = beside.send("GET", f"/{prefix}/swagger/assets/initializer.js", None).body
        assert f'url: "{prefix}/openapi.json"'.encode() in script
        document = beside.send("GET", f"/{prefix}/openapi.json", None).json
        assert ("/api/v1/projects" in document["paths"]) == (prefix == "/api/v1")
        assert ("/query" in document["paths"]) == (prefix != "/api/v1")


def test_a_large_body_is_refused_by_the_control_plane_alone(beside: Beside) -> None:
    large = b'{"$metadata":{"$model":"m"},"a":"' + b"x" * 1_100_000 + b'"}'
    assert beside.send("POST", "/projects", "root", large).status == 413
    assert beside.send("PUT", "//digitaltwins/a", "root", large).status == 200


def test_a_browser_of_an_allowed_origin_may_call_with_a_token(world: World) -> None:
    asked = {
        "origin": "https://app.example",
        "access-control-request-method": "PUT",
        "access-control-request-headers": "authorization, content-type, idempotency-key, if-match",
    }
    preflight = world.send("OPTIONS", "/projects/campus", None, headers=asked)
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-origin"] == "https://app.example"
    assert "PUT" in preflight.headers["access-control-allow-methods"]
    for name in ("authorization", "idempotency-key", "if-match"):
        assert name in preflight.headers["access-control-allow-headers"].lower()
    origin = {"origin": "https://app.example"}
    for caller in ("root", None):  # also what is refused must be readable, to lead to the issuer
        answer = world.send("GET", "/projects", caller, headers=origin)
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        exposed = answer.headers["access-control-expose-headers"]
        assert {"ETag", "Location", "WWW-Authenticate"} <= set(exposed.split(", "))
    other = world.send("GET", "/projects", "root", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers


def test_the_document_of_the_resource_is_for_every_page_and_names_the_issuer(world: World) -> None:
    for path in ("/api/v1", ""):
        found = world.send("GET", f"//.well-known/oauth-protected-resource{path}", None)
        assert found.headers["access-control-allow-origin"] == "*"
        assert found.json["authorization_servers"] == ["https://issuer.example"]
        assert found.json["scopes_supported"] == ["access:platform"]
        assert found.json["resource"] == f"https://localhost{path}"


def test_answers_are_not_kept_by_caches_and_requests_have_ids(world: World) -> None:
    for caller in ("root", None, "root;scope=none"):
        answer = world.send("GET", "/projects", caller, headers={"x-request-id": "r-1"})
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-request-id"] == "r-1"


def test_refusals_leave_a_trail(world: World) -> None:
    world.audit.clear()
    world.send("GET", "/projects?token=secret", None)
    world.send("GET", "/projects", "ann;scope=none")
    assert [(entry.allowed, entry.subject, entry.request_info.action) for entry in world.audit] == [
        (False, "", "GET /api/v1/projects"),
        (False, "ann", "GET /api/v1/projects"),
    ]


def test_a_responder_without_the_layer_before_it_lets_nobody_in(world: World) -> None:
    admission = Admission(world.gate, world.plane, world.settings.control)
    ran = []

    async def responder(*_anything: object, **_names: str) -> None:
        ran.append(True)

    route = next(route for route in CONTROL_ROUTES if route.permission)
    guarded = admission.admit(route, responder)
    assert guarded is not responder

    exchange = SimpleNamespace(caller=None)
    bare = SimpleNamespace(scope={SCOPE_KEY: exchange}, context=SimpleNamespace())
    with pytest.raises(Unauthenticated):
        world.loop.run(guarded(bare, None))
    assert ran == []
