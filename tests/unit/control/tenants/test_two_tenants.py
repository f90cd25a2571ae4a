"""Two tenants: nothing of the one can be told from what the other is answered."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import pytest

from tests.unit.control.tenants.access_world import ANN, EVE, ROOT, SECOND, World, run
from twinframe.control.records.actors import Principal
from twinframe.control.records.scopes import PLATFORM, Scope
from twinframe.control.tenants.access import Access
from twinframe.control.tenants.assignments import Assignments, Reach
from twinframe.control.tenants.audit import AuditLog
from twinframe.control.tenants.organizations import Organizations
from twinframe.control.tenants.projects import Projects
from twinframe.control.tenants.roles import Roles
from twinframe.control.tenants.users import Users
from twinframe.errors import ControlNotFound, TwinframeError

FRIEND = Principal("subject", "friend")


class Ids(NamedTuple):
    """Ids of what one tenant has, or of nothing."""

    organization: str
    project: str
    resource: str
    assignment: str
    role: str
    user: str

    def scopes(self) -> tuple[Scope, Scope, Scope]:
        return (
            Scope("organization", self.organization),
            Scope("project", self.project),
            Scope("resource", self.resource),
        )


MISSING = Ids("no-organization", "no-project", "no-resource", "asg-none", "absent", "nobody")

Call = Callable[[World, Ids], Coroutine[Any, Any, object]]


def at_each_scope(call: Callable[[World, Scope], Coroutine[Any, Any, object]]) -> list[Call]:
    return [
        lambda world, ids, position=position: call(world, ids.scopes()[position])
        for position in range(3)
    ]


CALLS: dict[str, list[Call]] = {
    "Organizations.read": [lambda w, i: w.organizations.read(EVE, i.organization)],
    "Organizations.update": [lambda w, i: w.organizations.update(EVE, i.organization, "Mine")],
    "Organizations.delete": [lambda w, i: w.organizations.delete(EVE, i.organization)],
    "Projects.create": [
        lambda w, i: w.projects.create(EVE, i.organization, "Mine"),
        lambda w, i: w.projects.create(EVE, i.organization, "Mine", project_id=i.project),
    ],
    "Projects.read": [lambda w, i: w.projects.read(EVE, i.project)],
    "Projects.update": [lambda w, i: w.projects.update(EVE, i.project, "Mine")],
    "Projects.delete": [lambda w, i: w.projects.delete(EVE, i.project)],
    "Projects.list": [lambda w, i: w.projects.list(EVE, organization_id=i.organization)],
    "Roles.create": [
        lambda w, i: w.roles.create(EVE, i.organization, "R", ["query/read"], role=i.role)
    ],
    "Roles.list": [lambda w, i: w.roles.list(EVE, i.organization)],
    "Roles.read": [
        lambda w, i: w.roles.read(EVE, i.organization, i.role),
        lambda w, i: w.roles.read(EVE, "own", i.role),
        lambda w, i: w.roles.read(EVE, "own", f"{i.organization}/{i.role}"),
    ],
    "Roles.update": [lambda w, i: w.roles.update(EVE, i.organization, i.role, name="Mine")],
    "Roles.delete": [lambda w, i: w.roles.delete(EVE, i.organization, i.role, cascade=True)],
    "Assignments.grant": [
        *at_each_scope(lambda w, s: w.assignments.grant(EVE, s, FRIEND, "viewer")),
        *at_each_scope(lambda w, s: w.assignments.grant(EVE, s, FRIEND, "no-role")),
        lambda w, i: w.assignments.grant(EVE, Scope("organization", "own"), FRIEND, i.role),
    ],
    "Assignments.list": [
        *at_each_scope(lambda w, s: w.assignments.list(EVE, s)),
        *at_each_scope(lambda w, s: w.assignments.list(EVE, s, reach=Reach.BELOW)),
        *at_each_scope(lambda w, s: w.assignments.list(EVE, s, reach=Reach.INHERITED)),
    ],
    "Assignments.read": [lambda w, i: w.assignments.read(EVE, i.assignment)],
    "Assignments.change": [lambda w, i: w.assignments.change(EVE, i.assignment, w.now + SECOND)],
    "Assignments.revoke": [lambda w, i: w.assignments.revoke(EVE, i.assignment)],
    "Access.permissions": [
        *at_each_scope(lambda w, s: w.access.permissions(EVE, s)),
        *at_each_scope(lambda w, s: w.access.permissions(EVE, s, "ann")),
        lambda w, i: w.access.permissions(EVE, Scope("organization", "own"), i.user),
    ],
    "AuditLog.list": at_each_scope(lambda w, s: w.audit.list(EVE, s)),
    "Users.read": [lambda w, i: w.users.read(EVE, i.user)],
}
WITHOUT_IDS = {
    "Organizations.create",
    "Organizations.list",
    "Assignments.list_own",
    "Users.list",
    "Users.see",
}


def build_world(standing: str) -> tuple[World, Ids]:
    """Ann has acme; eve has nothing, an organization, or besides may create more of them."""
    world = World()
    world.start()
    run(world.users.see(ANN))
    run(world.roles.create(ANN, "acme", "Secret", ["query/read"], role="secret"))
    assignment = world.grant(ANN, Scope("resource", "graph"), "bob", "viewer")
    if standing != "nothing":
        run(world.organizations.create(ROOT, "Own", organization_id="own"))
        world.grant(ROOT, Scope("organization", "own"), EVE.subject, "owner")
    if standing == "creator":
        world.grant(ROOT, PLATFORM, EVE.subject, "organization-creator")
    return world, Ids("acme", "campus", "graph", assignment.id, "secret", "ann")


def answer(world: World, call: Call, ids: Ids) -> str:
    """What eve is answered, with the ids she sent taken out."""
    try:
        found: object = run(call(world, ids))
    except TwinframeError as error:
        found = (type(error).__name__, error.message, error.details)
    text = repr(found)
    for name in sorted(ids, key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "·", text)
    return text


@pytest.mark.parametrize("standing", ["nothing", "owner", "creator"])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_foreign_answers_as_what_is_not_there(name: str, standing: str) -> None:
    for call in CALLS[name]:
        world, foreign = build_world(standing)
        before = dump(world)
        assert answer(world, call, foreign) == answer(world, call, MISSING)
        assert dump(world) == before


def dump(world: World) -> list[object]:
    """All that ann and the platform's owner can see."""
    return [
        run(world.organizations.read(ANN, "acme")),
        run(world.projects.list(ANN)),
        run(world.roles.list(ANN, "acme")),
        run(world.assignments.list(ANN, Scope("organization", "acme"), reach=Reach.BELOW)),
        run(world.audit.list(ANN, Scope("organization", "acme"))),
    ]


@pytest.mark.parametrize("standing", ["nothing", "owner", "creator"])
def test_listings_hold_nothing_foreign(standing: str) -> None:
    world, _ = build_world(standing)
    expected = [] if standing == "nothing" else ["own"]
    assert [each.id for each in run(world.organizations.list(EVE)).items] == expected
    assert run(world.projects.list(EVE)).items == ()
    held = {each.organization_id for each in run(world.assignments.list_own(EVE)).items}
    assert held <= {"own", ""}


def test_a_foreign_role_is_not_granted_and_a_foreign_key_not_replayed() -> None:
    world, ids = build_world("owner")
    with pytest.raises(ControlNotFound):
        run(world.roles.update(EVE, "own", ids.role, name="Mine"))
    assert run(world.roles.read(ANN, "acme", ids.role)).name == "Secret"


def test_every_method_is_called_with_foreign_ids() -> None:
    methods = {
        f"{kind.__name__}.{name}"
        for kind in (Organizations, Projects, Roles, Assignments, Access, AuditLog, Users)
        for name, _ in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
    assert methods == {*CALLS, *WITHOUT_IDS}
