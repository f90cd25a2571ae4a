"""The wire form of the control plane: resources, listings, errors, keys and tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.control.http.control_world import World
from twinframe.control.http.routes import CONTROL_ROUTES
from twinframe.http.routes import Route

OWNER = "acme-owner"
RESOURCES = "/projects/acme-prj/resources"
GRAPH = {"id": "tower", "name": "Tower", "type": "Platform.Graph"}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
MEMBERS = {
    *("resource_id", "project_id", "name", "type", "sku", "status", "settings_json"),
    *("created_at", "updated_at"),
}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.build_tenant("acme")
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    made = World()
    made.build_tenant("acme")
    yield made
    made.close()


def test_a_resource_has_exactly_the_members_of_its_state(world: World) -> None:
    made = world.send("POST", RESOURCES, OWNER, GRAPH)
    assert made.status == 201
    assert made.headers["location"] == "/api/v1/projects/acme-prj/resources/tower"
    assert set(made.json) == MEMBERS
    assert made.json["status"] == "creating"
    assert made.json["sku"] == "free"
    assert made.json["settings_json"] == {}
    assert MOMENT.fullmatch(made.json["created_at"])
    assert set(world.send("GET", f"{RESOURCES}/tower", OWNER).json) == MEMBERS
    world.provision()
    running = world.send("GET", f"{RESOURCES}/tower", OWNER).json
    assert set(running) == MEMBERS | {"access_url"}
    assert (running["status"], running["access_url"]) == (
        "running",
        "https://graphs.example/graphs/tower",
    )
    changed = world.send("PUT", f"{RESOURCES}/tower", OWNER, {"name": "High", "sku": "pro"})
    assert changed.status == 200
    assert set(changed.json) == MEMBERS
    assert (changed.json["status"], changed.json["name"]) == ("updating", "High")
    gone = world.send("DELETE", f"{RESOURCES}/tower", OWNER)
    assert gone.status == 202
    assert gone.json == {
        "message": "The resource is being deleted.",
        "resource_id": "tower",
        "status": "deleting",
    }
    assert world.send("DELETE", f"{RESOURCES}/tower", OWNER).json == gone.json
    world.provision()
    tombstone = world.send("GET", f"{RESOURCES}/tower", OWNER).json
    assert set(tombstone) == MEMBERS
    assert tombstone["status"] == "terminated"
    again = world.send("DELETE", f"{RESOURCES}/tower", OWNER)
    assert (again.status, set(again.json)) == (409, {"error"})
    assert "'tower' is terminated" in again.json["error"]
    assert world.send("GET", RESOURCES, OWNER).json["resources"] == []
    listed = world.send("GET", f"{RESOURCES}?status=terminated", OWNER).json
    assert [each["resource_id"] for each in listed["resources"]] == ["tower"]


def test_a_resource_that_cannot_come_up_says_why_and_is_listed_as_such(world: World) -> None:
    made = world.send("POST", RESOURCES, OWNER, {**GRAPH, "type": "Platform.Broken"})
    assert made.status == 201
    world.provision()
    found = world.send("GET", f"{RESOURCES}/tower", OWNER).json
    assert set(found) == MEMBERS | {"error_message"}
    assert (found["status"], found["error_message"]) == ("error", "There is no room.")
    operations = world.send("GET", f"{RESOURCES}/tower/operations", OWNER).json
    assert (operations["total"], operations["operations"][0]["status"]) == (1, "failed")
    assert [each["to"] for each in operations["operations"][0]["transitions"]] == [
        "creating",
        "error",
    ]


@pytest.mark.parametrize(
    "text",
    [
        b'{"z": 1,  "a":{"y":[1, 2.50,1e3],"b":null}}',
        b'{ "1":true,"0":false,\t"\\u00e9":"\xc3\xa9" }',
        b'{"n":9223372036854775807,"f":0.10000000000000000555}',
        b'"{\\"a\\": 1}"',
    ],
)
def test_settings_come_back_as_the_text_that_was_given(world: World, text: bytes) -> None:
    start = b'{"id":"tower","name":"Tower","type":"Platform.Flow","settings_json": '
    made = world.send("POST", RESOURCES, OWNER, start + text + b" }")
    assert made.status == 201, made.body
    assert b'"settings_json":' + text + b',"created_at"' in made.body
    for target in (f"{RESOURCES}/tower", RESOURCES):
        assert text in world.send("GET", target, OWNER).body
    world.provision()
    assert text in world.send("PUT", f"{RESOURCES}/tower", OWNER, {"name": "Other"}).body


def test_settings_in_a_text_are_checked_and_carried_out_as_an_object_is(world: World) -> None:
    settings = orjson.dumps({"max_concurrent_connections": 7}).decode()
    made = world.send("POST", RESOURCES, OWNER, {**GRAPH, "settings_json": settings})
    assert (made.status, made.json["settings_json"]) == (201, settings)
    world.provision()
    assert world.send("GET", f"{RESOURCES}/tower", OWNER).json["status"] == "running"
    changed = world.send("PUT", f"{RESOURCES}/tower", OWNER, {"settings_json": " {} "})
    assert (changed.status, changed.json["settings_json"]) == (200, " {} ")
    world.provision()
    for wrong in ("", "no json", "[]", "null", '{"a": 1, "a": 2}', '{"a": NaN}', '"{}"'):
        refused = world.send("PUT", f"{RESOURCES}/tower", OWNER, {"settings_json": wrong})
        assert refused.status == 400, wrong
        assert refused.json["details"].startswith("settings_json "), refused.json
    assert world.send("GET", f"{RESOURCES}/tower", OWNER).json["settings_json"] == " {} "


@given(
    st.dictionaries(
        st.text(max_size=5).filter(lambda text: "\x00" not in text),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=5,
        ),
        max_size=6,
    )
)
def test_member_order_of_settings_is_kept(shared: World, settings: dict[str, Any]) -> None:
    shared.provision()
    if not shared.send("GET", f"{RESOURCES}?limit=1", OWNER).json["total"]:
        shared.create_resource("acme-prj", OWNER, "tower", type="Platform.Flow")
        shared.provision()
    changed = shared.send("PUT", f"{RESOURCES}/tower", OWNER, {"settings_json": settings})
    assert changed.status == 200, changed.body
    found = orjson.loads(changed.body)["settings_json"]
    assert list(found.items()) == list(settings.items())


def test_listings_are_cut_by_limit_and_offset_and_filtered(world: World) -> None:
    for number in range(5):
        kind = "Platform.Flow" if number % 2 else "Platform.Graph"
        world.create_resource("acme-prj", OWNER, f"r-{number}", type=kind)
    page = world.send("GET", f"{RESOURCES}?limit=2&offset=1", OWNER).json
    assert set(page) == {"resources", "total", "limit", "offset"}
    assert [each["resource_id"] for each in page["resources"]] == ["r-1", "r-2"]
    assert (page["total"], page["limit"], page["offset"]) == (5, 2, 1)
    flows = world.send("GET", f"{RESOURCES}?type=Platform.Flow", OWNER).json
    assert ([each["resource_id"] for each in flows["resources"]], flows["total"]) == (
        ["r-1", "r-3"],
        2,
    )
    assert world.send("GET", f"{RESOURCES}?status=running", OWNER).json["total"] == 0
    assert world.send("GET", f"{RESOURCES}?offset=99", OWNER).json["resources"] == []


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("limit=0", "from 1"),
        ("limit=1001", "1000"),
        ("limit=-1", "whole number"),
        ("offset=x", "whole number"),
        ("type=Platform.Grap", "Platform.Graph"),
        ("status=runing", "running"),
        ("limt=3", "Did you mean limit?"),
        ("limit=1&limit=2", "more than once"),
    ],
)
def test_a_wrong_query_is_refused_with_what_would_be_right(
    shared: World, query: str, hint: str
) -> None:
    answer = shared.send("GET", f"{RESOURCES}?{query}", OWNER)
    assert answer.status == 400
    assert set(answer.json) == {"error", "details", "findings"}
    assert hint in answer.json["error"]


@pytest.mark.parametrize(
    ("body", "hints"),
    [
        ({**GRAPH, "nmae": "x"}, ["Did you mean name?"]),
        ({"id": "UPPER", "type": "Platform.Grph", "sku": "gold"}, ["id", "name", "Graph", "sku"]),
        ({**GRAPH, "settings_json": []}, ["object"]),
        ([], ["object"]),
    ],
)
def test_a_wrong_body_is_refused_with_all_that_is_wrong(
    shared: World, body: Any, hints: list[str]
) -> None:
    answer = shared.send("POST", RESOURCES, OWNER, body)
    assert answer.status == 400
    assert set(answer.json) == {"error", "details", "findings"}
    for hint in hints:
        assert any(hint in finding for finding in answer.json["findings"]), (hint, answer.json)
    assert answer.json["details"] == " ".join(answer.json["findings"])


def test_bodies_that_are_no_json_or_too_large_or_of_another_kind_are_refused(shared: World) -> None:
    assert shared.send("POST", RESOURCES, OWNER, b"{").json["details"]
    empty = shared.send("POST", RESOURCES, OWNER, b"")
    assert (empty.status, set(empty.json)) == (400, {"error", "details", "findings"})
    large = shared.send("POST", RESOURCES, OWNER, b" " * (1024 * 1024 + 1))
    assert (large.status, set(large.json)) == (413, {"error"})
    text = shared.send("POST", RESOURCES, OWNER, GRAPH, {"content-type": "text/plain"})
    assert (text.status, set(text.json)) == (415, {"error"})
    method = shared.send("PATCH", RESOURCES, OWNER, GRAPH)
    assert (method.status, set(method.json)) == (405, {"error"})
    assert method.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    nowhere = shared.send("GET", "/resource", OWNER)
    assert (nowhere.status, set(nowhere.json)) == (404, {"error"})
    broken = shared.send("GET", "/projects/%zz", OWNER)
    assert (broken.status, set(broken.json)) == (400, {"error", "details", "findings"})


def test_a_taken_id_and_a_state_that_does_not_allow_the_call_are_conflicts(world: World) -> None:
    world.create_resource("acme-prj", OWNER, "tower")
    for answer in (
        world.send("POST", RESOURCES, OWNER, GRAPH),
        world.send("PUT", f"{RESOURCES}/tower", OWNER, {"name": "x"}),
    ):
        assert (answer.status, set(answer.json)) == (409, {"error"})
    world.build_tenant("other")
    taken = world.send("POST", "/projects/other-prj/resources", "other-owner", GRAPH)
    assert taken.json == {"error": "The id 'tower' is taken; choose another."}


def test_a_repeated_post_with_its_key_has_one_effect_and_the_same_answer(world: World) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = world.send("POST", RESOURCES, OWNER, GRAPH, key)
    again = world.send("POST", RESOURCES, OWNER, GRAPH, key)
    assert (again.status, again.body) == (201, first.body)
    other = world.send("POST", RESOURCES, OWNER, {**GRAPH, "id": "other"}, key)
    assert (other.status, set(other.json)) == (409, {"error"})
    assert world.send("GET", RESOURCES, OWNER).json["total"] == 1
    project = {"organization_id": "acme", "name": "Made"}
    ids = {
        world.send("POST", "/projects", OWNER, project, key).json.get("project_id") for _ in "ab"
    }
    assert ids == {None}  # the key came with another path
    fresh = {"Idempotency-Key": "k-2"}
    made = [world.send("POST", "/projects", OWNER, project, fresh) for _ in "ab"]
    assert (made[0].status, made[0].body) == (201, made[1].body)
    assert world.send("POST", RESOURCES, OWNER, GRAPH, {"Idempotency-Key": "ä"}).status == 400


def test_a_change_of_what_somebody_else_changed_meanwhile_is_refused(world: World) -> None:
    world.create_resource("acme-prj", OWNER, "tower")
    world.provision()
    tag = world.send("GET", f"{RESOURCES}/tower", OWNER).headers["etag"]
    first = world.send("PUT", f"{RESOURCES}/tower", OWNER, {"name": "A"}, {"If-Match": tag})
    assert first.status == 200
    world.provision()
    for method, body in (("PUT", {"name": "B"}), ("DELETE", None)):
        late = world.send(method, f"{RESOURCES}/tower", OWNER, body, {"If-Match": tag})
        assert (late.status, set(late.json)) == (412, {"error"})
    now = world.send("GET", f"{RESOURCES}/tower", OWNER).headers["etag"]
    for condition in (f'"no", {now}', "*"):
        done = world.send(
            "PUT", f"{RESOURCES}/tower", OWNER, {"name": "C"}, {"If-Match": condition}
        )
        assert done.status == 200
        world.provision()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", f"{RESOURCES}/tower", {"name": "B"}),
        ("DELETE", f"{RESOURCES}/tower", None),
        ("PUT", "/projects/acme-prj", {"name": "B"}),
        ("DELETE", "/projects/acme-prj", None),
        ("POST", RESOURCES, {**GRAPH, "name": "Other"}),
    ],
)
def test_a_condition_that_nobody_looks_at_changes_nothing(
    world: World, method: str, path: str, body: Any
) -> None:
    world.create_resource("acme-prj", OWNER, "tower")
    world.provision()
    before = [world.send("GET", each, OWNER).body for each in (RESOURCES, "/projects/acme-prj")]
    date = "Sun, 06 Nov 1994 08:49:37 GMT"
    conditions = [{"If-Match": '"no"'}, {"If-Unmodified-Since": date}]
    if method != "POST":
        conditions.append({"If-None-Match": "*"})
    for headers in conditions:
        answer = world.send(method, path, OWNER, body, headers)
        assert (answer.status, set(answer.json)) == (412, {"error"})
    after = [world.send("GET", each, OWNER).body for each in (RESOURCES, "/projects/acme-prj")]
    assert after == before


def test_a_quota_that_is_used_up_says_the_figures(world: World) -> None:
    answers = [
        world.send("POST", RESOURCES, OWNER, {**GRAPH, "id": f"r-{number}", "type": "Platform.Few"})
        for number in range(3)
    ]
    assert [answer.status for answer in answers] == [201, 201, 403]
    assert set(answers[2].json) == {"error"}
    assert "allows 2 resources; 2 are used" in answers[2].json["error"]
    uses = world.send("GET", f"{RESOURCES}/r-0/quotas", OWNER).json
    assert uses == {"quotas": [{"quota": "resources", "limit": 2, "used": 2}]}


def test_roles_are_given_checked_and_taken_away(world: World) -> None:
    world.create_resource("acme-prj", OWNER, "tower")
    check = "/permissions/check?scopeType=resource&scopeId=tower"
    assert world.send("GET", check, "ann").json == {"permissions": []}
    given = world.grant(f"{RESOURCES}/tower", "ann", "graph-data-viewer", OWNER)
    assert "digitaltwins/read" in world.send("GET", check, "ann").json["permissions"]
    assert world.send("GET", f"{check}&userId=ann", "service").status == 404
    world.grant("/projects/acme-prj", "service", "permission-checker", OWNER)
    asked = world.send("GET", f"{check}&userId=ann", "service")
    assert "query/read" in asked.json["permissions"]
    assert world.send("DELETE", f"/role-assignments/{given}", OWNER).status == 204
    assert world.send("GET", f"{check}&userId=ann", "service").json == {"permissions": []}
    for query in ("scopeType=resource", "scopeType=planet&scopeId=x"):
        assert world.send("GET", f"/permissions/check?{query}", "ann").status == 400


def test_the_own_graph_of_a_service_is_no_resource_whatever_its_name(world: World) -> None:
    world.create_resource("acme-prj", OWNER, "default")
    asked = "/permissions/check?scopeType=resource&scopeId=default"
    assert "digitaltwins/*" in world.send("GET", asked, OWNER).json["permissions"]
    world.grant("/platform", "checker", "permission-checker", "root")
    for own in (f"{asked}&graph=service", asked.replace("=resource", "=service")):
        for more, caller in (("", OWNER), (f"&userId={OWNER}", "checker")):
            found = world.send("GET", own + more, caller)
            assert (found.status, found.json) == (200, {"permissions": []})
        assert "digitaltwins/*" in world.send("GET", own, "root").json["permissions"]
    grants = "/services/default/role-assignments"
    assert world.send("POST", grants, OWNER, {"role_id": "viewer", "user_id": "x"}).status == 404
    world.grant("/services/default", OWNER, "graph-data-viewer", "root")
    seen = world.send("GET", f"{asked}&graph=service&userId={OWNER}", "checker").json
    assert "models/read" in seen["permissions"]
    assert "models/*" not in seen["permissions"]


@pytest.mark.parametrize(
    "query",
    [
        "scopeType=resource&scopeId=x&graph=own",
        "scopeType=resource&scopeId=x&graph=",
        "scopeType=project&scopeId=x&graph=service",
        "scopeType=platform&scopeId=platform&graph=service",
    ],
)
def test_a_question_about_a_graph_that_is_none_is_refused(shared: World, query: str) -> None:
    answer = shared.send("GET", f"/permissions/check?{query}", "root")
    assert answer.status == 400
    assert "service" in answer.json["error"]


@pytest.mark.parametrize("name", ["a%7Cb", "x" * 201])
def test_a_service_has_a_name_that_can_be_kept(shared: World, name: str) -> None:
    answer = shared.send("GET", f"/services/{name}/role-assignments", "root")
    assert answer.status == 404
    assert shared.send("GET", "/services/My%20graph/role-assignments", "root").status == 200


def test_an_invitation_waits_for_the_verified_email(world: World) -> None:
    invitation = {"email": "Ann@Example.com", "role_id": "viewer"}
    made = world.send("POST", "/organizations/acme/role-assignments", OWNER, invitation)
    assert (made.json["user_id"], made.json["email"]) == (None, "ann@example.com")
    claimed = "mallory;email=ann@example.com;email_verified=false"
    assert world.send("GET", "/organizations/acme", claimed).status == 404
    assert world.send("GET", "/users/me", claimed).json["email"] is None
    verified = "ann;email=ann@example.com"
    assert world.send("GET", "/organizations/acme", verified).status == 200
    assert world.send("GET", "/organizations/acme", "ann").status == 200
    assert world.send("GET", "/organizations/acme", "mallory;email=ann@example.com").status == 404


def test_a_client_without_a_user_is_a_service(world: World) -> None:
    for caller, kind in (
        ("job;client_id=job", "service"),
        ("job2@clients;azp=job2", "service"),
        ("m2m;gty=client-credentials", "service"),
        ("ann;client_id=app;azp=app", "user"),
    ):
        assert world.send("GET", "/users/me", caller).json["kind"] == kind


def test_the_audit_log_says_who_did_what_in_which_request(world: World) -> None:
    world.create_resource("acme-prj", OWNER, "tower")
    sent = {"x-request-id": "request-7"}
    world.send("DELETE", f"{RESOURCES}/tower", OWNER, headers=sent)
    log = world.send("GET", f"{RESOURCES}/tower/audit-log", OWNER).json
    newest = log["entries"][0]
    assert (newest["action"], newest["actor"], newest["request_id"]) == (
        "resources/delete",
        OWNER,
        "request-7",
    )
    assert (newest["before"]["status"], newest["after"]["status"]) == ("creating", "deleting")
    older = world.send("GET", f"/projects/acme-prj/audit-log?before={newest['position']}", OWNER)
    assert [each["action"] for each in older.json["entries"]][:1] == ["resources/create"]


def test_what_was_granted_at_a_resource_does_not_outlive_it(world: World) -> None:
    world.create_resource("acme-prj", OWNER, "tower")
    world.grant(f"{RESOURCES}/tower", "ann", "viewer", OWNER)
    world.provision()
    world.send("DELETE", f"{RESOURCES}/tower", OWNER)
    world.provision()
    assert world.send("GET", f"{RESOURCES}/tower", "ann").status == 404
    world.create_resource("acme-prj", OWNER, "tower")
    assert world.send("GET", f"{RESOURCES}/tower", "ann").status == 404


def test_a_role_at_one_resource_shows_that_one_alone(world: World) -> None:
    for name in ("east", "west"):
        world.create_resource("acme-prj", OWNER, name)
    world.grant(f"{RESOURCES}/east", "ann", "viewer", OWNER)
    listed = world.send("GET", RESOURCES, "ann").json
    assert ([each["resource_id"] for each in listed["resources"]], listed["total"]) == (["east"], 1)
    assert world.send("GET", f"{RESOURCES}/east", "ann").status == 200
    assert world.send("GET", f"{RESOURCES}/west", "ann").status == 404
    assert world.send("GET", "/projects/other/resources/east", "ann").status == 404


@pytest.mark.parametrize("route", [one for one in CONTROL_ROUTES if one.method in ("POST", "PUT")])
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(
    shared: World, route: Route
) -> None:
    path = re.sub(r"\{[a-z_]+\}", "acme", route.path)
    answer = shared.send(route.method, f"/{path}", "root", b"[" + b"[]," * 20_000 + b"[]]")
    assert answer.status == 400
    assert b"more than 10000 elements and members (of the control plane)" in answer.body
