"""Nobody gives or takes more than they hold as long: each call by itself, and any row of calls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.control.tenants.access_world import (
    ACME,
    ANN,
    BOB,
    CAMPUS,
    EVE,
    GRAPH,
    ROOT,
    SECOND,
    START,
    World,
    run,
)
from twinframe.control.records.actors import Actor, Principal
from twinframe.control.records.documents import ASSIGNMENTS
from twinframe.control.records.scopes import Scope, find_path
from twinframe.control.tenants.access import find_role_permissions
from twinframe.control.tenants.catalogue import (
    CONTROL_PERMISSIONS,
    DATA_PERMISSIONS,
    build_grants,
    build_permission,
)
from twinframe.errors import GrantExceedsOwn, LastOwner, PermissionMissing, TwinframeError

HOUR = 3600 * SECOND
DEPOT = Scope("project", "depot")
Call = Callable[[World], Coroutine[Any, Any, object]]


@pytest.fixture
def world(world: World) -> World:
    """There is a second project."""
    run(world.projects.create(ANN, "acme", "Depot", project_id="depot"))
    return world


def state_of(world: World) -> list[object]:
    found = world.runner.session.find
    return [*found("assignment"), *found("role"), *found("project"), *found("organization")]


def refuse(world: World, error: type[TwinframeError], call: Coroutine[Any, Any, object]) -> None:
    before = state_of(world)
    with pytest.raises(error):
        run(call)
    assert state_of(world) == before


def test_an_owner_for_an_hour_neither_shortens_nor_revokes_an_owner_for_good(world: World) -> None:
    for scope in (ACME, CAMPUS):
        lasting = world.grant(ANN, scope, "eve", "owner")
        world.grant(ANN, scope, "bob", "owner", START + HOUR)
        for until in (START + SECOND, START + HOUR):
            refuse(world, GrantExceedsOwn, world.assignments.change(BOB, lasting.id, until))
        refuse(world, GrantExceedsOwn, world.assignments.revoke(BOB, lasting.id))
    run(world.assignments.revoke(ANN, lasting.id))


def test_nor_one_who_is_only_invited_or_holds_a_lesser_role_for_good(world: World) -> None:
    world.grant(ANN, ACME, "bob", "owner", START + HOUR)
    invited = Principal("email", EVE.email)
    for made in (
        run(world.assignments.grant(ANN, ACME, invited, "owner")),
        world.grant(ANN, ACME, "eve", "viewer"),
        world.grant(ANN, GRAPH, "eve", "graph-data-viewer", START + 2 * HOUR),
    ):
        refuse(world, GrantExceedsOwn, world.assignments.change(BOB, made.id, START + SECOND))
        refuse(world, GrantExceedsOwn, world.assignments.revoke(BOB, made.id))


def test_what_lasts_no_longer_than_ones_own_role_is_shortened_and_revoked(world: World) -> None:
    world.grant(ANN, ACME, "bob", "owner", START + HOUR)
    other = world.grant(ANN, CAMPUS, "eve", "owner", START + HOUR)
    run(world.assignments.change(BOB, other.id, START + SECOND))
    refuse(world, GrantExceedsOwn, world.assignments.change(BOB, other.id, START + HOUR + 1))
    run(world.assignments.revoke(BOB, other.id))
    (own,) = run(world.assignments.list_own(BOB)).items
    run(world.assignments.change(BOB, own.id, START + SECOND))
    run(world.assignments.revoke(BOB, own.id))


def test_a_project_or_organization_with_owners_for_good_outlives_an_owner_for_an_hour(
    world: World,
) -> None:
    run(world.organizations.create(ROOT, "Beta", organization_id="beta"))
    beta = Scope("organization", "beta")
    world.grant(ROOT, beta, "bob", "owner", START + HOUR)
    refuse(world, GrantExceedsOwn, world.organizations.delete(BOB, "beta"))
    world.grant(ANN, ACME, "bob", "owner", START + HOUR)
    kept = world.grant(ANN, DEPOT, "eve", "viewer")
    refuse(world, GrantExceedsOwn, world.projects.delete(BOB, "depot"))
    run(world.assignments.revoke(ANN, kept.id))
    run(world.projects.delete(BOB, "depot"))
    run(world.organizations.delete(ROOT, "beta"))


def test_who_deletes_projects_but_grants_no_access_takes_none_away(world: World) -> None:
    permissions = ["projects/read", "projects/delete", "query/read"]
    run(world.roles.create(ANN, "acme", "Cleaner", permissions, role="cleaner"))
    world.grant(ANN, ACME, "bob", "cleaner")
    own = world.grant(ANN, DEPOT, "bob", "cleaner")
    other = world.grant(ANN, DEPOT, "eve", "cleaner")
    refuse(world, PermissionMissing, world.projects.delete(BOB, "depot"))
    run(world.assignments.revoke(ANN, other.id))
    run(world.projects.delete(BOB, "depot"))
    assert own.id not in {each.id for each in run(world.assignments.list_own(BOB)).items}


@pytest.fixture
def managed(world: World) -> World:
    """Bob manages roles, and so holds `query/read` for good; eve has the role asker."""
    manager = ["organizations/read", "roles/*", "query/read", "models/read"]
    run(world.roles.create(ANN, "acme", "Manager", manager, role="manager"))
    run(world.roles.create(ANN, "acme", "Asker", ["query/read"], role="asker"))
    world.grant(ANN, ACME, "bob", "manager")
    world.grant(ANN, GRAPH, "eve", "asker")
    return world


def test_roles_alone_take_nothing_from_others_and_give_them_nothing(managed: World) -> None:
    roles = managed.roles
    refuse(managed, PermissionMissing, roles.delete(BOB, "acme", "asker", cascade=True))
    for permissions in (["models/read"], ["query/read", "models/read"]):
        call = roles.update(BOB, "acme", "asker", permissions=permissions)
        refuse(managed, PermissionMissing, call)
    run(roles.update(BOB, "acme", "asker", name="Questioner", permissions=["query/read"]))
    run(roles.create(BOB, "acme", "Mine", ["query/read"], role="mine"))
    run(roles.update(BOB, "acme", "mine", permissions=["models/read"]))
    run(roles.delete(BOB, "acme", "mine"))
    managed.grant(ANN, ACME, "bob", "asker")
    run(managed.assignments.revoke(ANN, run(managed.assignments.list(ANN, GRAPH)).items[0].id))
    run(roles.delete(BOB, "acme", "asker", cascade=True))  # it is bob's own alone


def test_who_may_revoke_a_role_also_deletes_and_narrows_it(managed: World) -> None:
    managed.grant(ANN, ACME, "bob", "owner", START + HOUR)
    roles = managed.roles
    run(roles.update(BOB, "acme", "asker", permissions=["query/read", "models/read"]))
    run(roles.update(BOB, "acme", "asker", permissions=["models/read"]))
    run(roles.delete(BOB, "acme", "asker", cascade=True))
    run(roles.create(ANN, "acme", "Writer", ["digitaltwins/*"], role="writer"))
    managed.grant(ANN, GRAPH, "eve", "writer")
    narrower = roles.update(BOB, "acme", "writer", permissions=["digitaltwins/read"])
    refuse(managed, GrantExceedsOwn, narrower)
    refuse(managed, GrantExceedsOwn, roles.delete(BOB, "acme", "writer", cascade=True))
    run(roles.update(ANN, "acme", "writer", permissions=["digitaltwins/read"]))


def test_what_has_expired_is_nothing_to_be_taken(managed: World) -> None:
    (held,) = run(managed.assignments.list(ANN, GRAPH)).items
    run(managed.assignments.change(ANN, held.id, START + SECOND))
    managed.now = START + SECOND
    run(managed.roles.update(BOB, "acme", "asker", permissions=["models/read"]))
    run(managed.roles.delete(BOB, "acme", "asker", cascade=True))


def test_an_owner_for_good_is_only_kept_from_being_the_last(world: World) -> None:
    world.grant(ANN, ACME, "bob", "owner")
    (own,) = (each for each in run(world.assignments.list_own(ANN)).items if each.scope == ACME)
    refuse(world, LastOwner, world.assignments.revoke(BOB, own.id))
    run(world.users.see(BOB))
    run(world.assignments.revoke(BOB, own.id))


# --- any row of calls ----------------------------------------------------------------------------

SCOPES = (ACME, CAMPUS, DEPOT, GRAPH)
CUSTOM = ("first", "second", "third")
SETS = (
    ("roles/*", "organizations/read", "query/read"),
    ("access/*", "projects/*", "organizations/read", "query/*"),
    ("digitaltwins/*", "access/write", "access/read"),
    ("digitaltwins/read", "projects/read", "projects/delete"),
)
ROLES = ("owner", "viewer", "editor", "graph-data-viewer", *CUSTOM)
NAMES = (*CONTROL_PERMISSIONS, *(name for name in DATA_PERMISSIONS if name != "mcp/*"))
FOREVER = 2**63
Power = Mapping[tuple[str, Scope, str], int]
"""Until when somebody (by principal) has a permission at a scope."""

ends = st.sampled_from((None, START + HOUR, START + 2 * HOUR))
holders = st.sampled_from(
    (
        Principal("subject", "bob"),
        Principal("subject", "eve"),
        Principal("subject", "zoe"),
        Principal("email", "new@example.com"),
    )
)
standings = st.tuples(holders, st.sampled_from(SCOPES), st.sampled_from(ROLES), ends)
picks = st.integers(0, 30)
steps = st.one_of(
    st.builds(
        lambda who, scope, role, end: (
            lambda w: w.assignments.grant(BOB, scope, who, role, expires_at=end)
        ),
        holders,
        st.sampled_from(SCOPES),
        st.sampled_from(ROLES),
        ends,
    ),
    st.builds(
        lambda pick, end: lambda w: w.assignments.change(BOB, pick_assignment(w, pick), end),
        picks,
        st.sampled_from((None, START + SECOND, START + HOUR, START + 2 * HOUR)),
    ),
    st.builds(lambda pick: lambda w: w.assignments.revoke(BOB, pick_assignment(w, pick)), picks),
    st.builds(
        lambda role, grants: lambda w: w.roles.create(BOB, "acme", role, grants, role=role),
        st.sampled_from(CUSTOM),
        st.sampled_from(SETS),
    ),
    st.builds(
        lambda role, grants: lambda w: w.roles.update(BOB, "acme", role, permissions=grants),
        st.sampled_from(CUSTOM),
        st.sampled_from(SETS),
    ),
    st.builds(
        lambda role, cascade: lambda w: w.roles.delete(BOB, "acme", role, cascade=cascade),
        st.sampled_from(CUSTOM),
        st.booleans(),
    ),
    st.builds(
        lambda name: lambda w: w.projects.delete(BOB, name), st.sampled_from(("campus", "depot"))
    ),
    st.just(lambda w: w.organizations.delete(BOB, "acme")),
    st.just(lambda w: w.users.see(BOB)),
)


def pick_assignment(world: World, pick: int) -> str:
    """The id of one that there is, not one of ann's: none of her calls is bob's."""
    found = sorted(record.id for record in world.runner.session.find("assignment"))
    return found[pick % len(found)]


def measure(world: World, *, inherited: bool = True) -> Power:
    """What everybody has, scope by scope and name by name, and until when.

    Without `inherited` a role counts where it is held alone: a project that is deleted takes
    nothing from who holds a role of its organization.
    """
    session, found = world.runner.session, dict[tuple[str, Scope, str], int]()
    for held in ASSIGNMENTS.parse_all(session.find("assignment")):
        grants = build_grants(find_role_permissions(session, held.role))
        names = [
            name for name in NAMES if any(grant.covers(build_permission(name)) for grant in grants)
        ]
        for scope in SCOPES:
            path = find_path(session, scope)
            if path is None or held.scope not in (path.scopes if inherited else [scope]):
                continue
            for name in names:
                key = held.grantee.key, scope, name
                until = FOREVER if held.expires_at is None else held.expires_at
                found[key] = max(found.get(key, 0), until)
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(standings, max_size=6), st.lists(steps, min_size=1, max_size=12), st.booleans())
def test_no_row_of_calls_gives_or_takes_more_than_the_caller_held_before(
    standing: list[tuple[Principal, Scope, str, int | None]], calls: list[Call], empty: bool
) -> None:
    """Ann set it all up before; then only bob calls. `empty`: what is there can be deleted."""
    world = World()
    world.start()
    run(world.projects.create(ANN, "acme", "Depot", project_id="depot"))
    for number, role in enumerate(CUSTOM[:2]):
        run(world.roles.create(ANN, "acme", role, SETS[number], role=role))
    for holder, place, role, end in standing:
        with suppress(TwinframeError):
            run(world.assignments.grant(ANN, place, holder, role, expires_at=end))
    if empty:
        world.put_resource("graph", "campus", "acme", "terminated")
    before, placed = measure(world), measure(world, inherited=False)
    bob = {(scope, name): until for (who, scope, name), until in before.items() if who == MINE}
    for call in calls:
        with suppress(TwinframeError):
            run(call(world))
    after = measure(world)
    for (who, scope, name), until in after.items():
        if until > before.get((who, scope, name), 0):
            assert until <= bob.get((scope, name), 0), f"{who} got {name} at {scope.key}"
            assert who == MINE or (scope, "access/write") in bob
    left = measure(world, inherited=False)
    for (who, scope, name), until in placed.items():
        if who != MINE and left.get((who, scope, name), 0) < until:
            assert bob.get((scope, name), 0) >= until, f"{who} lost {name} at {scope.key}"
            assert (scope, "access/write") in bob
    world.close()


MINE = Principal("subject", "bob").key


def test_the_row_that_was_found_is_refused_call_by_call(managed: World) -> None:
    """As it was done: an owner for an hour ends with nobody above them."""
    own = managed.grant(ANN, ACME, "bob", "owner", START + HOUR)
    (lasting,) = (
        each for each in run(managed.assignments.list(BOB, ACME)).items if each.principal == "ann"
    )
    calls: list[Call] = [
        lambda w: w.assignments.change(BOB, lasting.id, START + SECOND),
        lambda w: w.assignments.revoke(BOB, lasting.id),
        lambda w: w.assignments.change(BOB, own.id, None),
        lambda w: w.assignments.grant(BOB, ACME, Principal("subject", "zoe"), "owner"),
        lambda w: w.assignments.grant(BOB, ACME, Principal("email", "z@example.com"), "owner"),
        lambda w: w.roles.create(BOB, "acme", "All", ["access/*"], role="all"),
    ]
    for call in calls:
        refuse(managed, GrantExceedsOwn, call(managed))
    assert "access/*" in managed.permissions(Actor("ann"), ACME)
