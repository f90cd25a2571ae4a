"""`GET /resources`: over all projects, what the caller may see and no more, page by page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.control.http.control_world import World
from tests.unit.control.tenants.access_world import STORES, build_store
from twinframe.control.records import listing

PROJECTS = ("acme-prj", "acme-two", "beta-prj")
PLACES = (
    "/platform",
    "/organizations/acme",
    "/organizations/beta",
    *(f"/projects/{name}" for name in PROJECTS),
    *(f"/projects/{name}/resources/{name}-{number}" for name in PROJECTS for number in (0, 3)),
)


@pytest.fixture(params=STORES, scope="module")
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    made = World(build_store(request.param, tmp_path_factory.mktemp("control")))
    for tenant in ("acme", "beta"):
        made.build_tenant(tenant)
    second = {"id": "acme-two", "organization_id": "acme", "name": "Two"}
    assert made.send("POST", "/projects", "acme-owner", second).status == 201
    for project in PROJECTS:
        for number in range(4):
            kind = "Platform.Flow" if number % 2 else "Platform.Graph"
            made.create_resource(project, "root", f"{project}-{number}", type=kind)
    made.provision()
    for project in PROJECTS:
        path = f"/projects/{project}/resources/{project}-2"
        assert made.send("DELETE", path, "root").status == 202
    made.provision()
    made.create_resource("acme-prj", "root", "aaa-creating")
    yield made
    made.close()


def list_ids(world: World, caller: str, query: str = "") -> list[str]:
    """All pages of two, put together; each says how many there are."""
    found: list[str] = []
    while True:
        target = f"/resources?limit=2&offset={len(found)}{query}"
        page = world.send("GET", target, caller).json
        found += [each["resource_id"] for each in page["resources"]]
        if not page["resources"]:
            assert page["total"] == len(found)
            return found


def list_by_project(world: World, caller: str, query: str = "") -> list[str]:
    found: list[str] = []
    for project in PROJECTS:
        answer = world.send("GET", f"/projects/{project}/resources?limit=1000{query}", caller)
        if answer.status == 200:
            found += [each["resource_id"] for each in answer.json["resources"]]
    return sorted(found)


numbers = iter(range(10**6))


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    held=st.lists(
        st.tuples(
            st.sampled_from(PLACES),
            st.sampled_from(("viewer", "editor", "graph-data-owner", "owner")),
        ),
        max_size=4,
        unique=True,
    ),
    query=st.sampled_from(
        ("", "&type=Platform.Graph", "&status=running", "&status=terminated", "&status=creating")
    ),
)
def test_it_is_all_that_the_listings_of_the_projects_have(
    world: World, held: list[tuple[str, str]], query: str
) -> None:
    caller = f"caller-{next(numbers)}"
    for place, role in held:
        world.grant(place, caller, role)
    assert list_ids(world, caller, query) == list_by_project(world, caller, query)


def test_a_resource_is_shown_as_in_its_project(world: World) -> None:
    for one in world.send("GET", "/resources", "beta-owner").json["resources"]:
        path = f"/projects/{one['project_id']}/resources/{one['resource_id']}"
        assert world.send("GET", path, "beta-owner").json == one
        assert one["project_id"] == "beta-prj"


def test_a_role_that_has_expired_or_was_taken_shows_nothing(world: World) -> None:
    place = "/projects/beta-prj/resources/beta-prj-0"
    given = world.grant(place, "guest", "viewer")
    assert list_ids(world, "guest") == ["beta-prj-0"]
    assert world.send("DELETE", f"/role-assignments/{given}", "root").status == 204
    assert list_ids(world, "guest") == []
    assert world.send("GET", "/resources", "nobody").json["total"] == 0
    assert world.send("GET", "/resources", None).status == 401


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("type=Platform.Grap", "Platform.Graph"),
        ("status=runing", "running"),
        ("limit=0", "limit is from 1"),
        ("project=x", "project"),
    ],
)
def test_a_wrong_query_is_refused(world: World, query: str, hint: str) -> None:
    answer = world.send("GET", f"/resources?{query}", "root")
    assert answer.status == 400
    assert hint in answer.json["error"]


@pytest.mark.parametrize(
    ("path", "name", "id_"),
    [
        ("/resources", "resources", "resource_id"),
        ("/projects/acme-prj/resources", "resources", "resource_id"),
        ("/platform/audit-log", "entries", "position"),
        ("/projects/acme-prj/role-assignments", "role_assignments", "assignment_id"),
        ("/organizations", "organizations", "organization_id"),
    ],
)
@pytest.mark.parametrize("room", [1, 700, 1500])
def test_a_page_ends_at_its_bytes_and_says_how_many_it_has(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, name: str, id_: str, room: int
) -> None:
    whole = world.send("GET", f"{path}?limit=1000", "root").json
    assert (len(whole[name]), whole["limit"]) == (whole["total"], 1000)
    monkeypatch.setattr(listing, "PAGE_BYTES", room)
    found, offset, pages = [], 0, 0
    while offset < whole["total"]:
        page = world.send("GET", f"{path}?limit=1000&offset={offset}", "root").json
        if offset + len(page[name]) < whole["total"]:
            assert page["limit"] == len(page[name]) > 0
        found += page[name]
        offset += page["limit"]
        pages += 1
    assert [one[id_] for one in found] == [one[id_] for one in whole[name]]
    assert pages > 1 or room > 1
