"""What somebody may do at a scope, and what the check tells whom."""

from __future__ import annotations

import pytest

from tests.unit.control.tenants.access_world import (
    ACME,
    ANN,
    BOB,
    CAMPUS,
    EVE,
    GRAPH,
    PLATFORM,
    ROOT,
    SECOND,
    World,
    run,
)
from twinframe.control.records.actors import Actor, Principal
from twinframe.control.records.scopes import Scope, parse_scope
from twinframe.control.tenants.access import find_readable_resources
from twinframe.control.tenants.catalogue import BUILT_IN_ROLES
from twinframe.errors import ControlNotFound, InvalidArgument, PermissionMissing

CHECKER = Actor("graph-server", kind="service")
VIEWER = tuple(sorted(BUILT_IN_ROLES["graph-data-viewer"].permissions))


def test_a_role_at_a_resource_counts_there_alone(world: World) -> None:
    world.grant(ANN, GRAPH, "bob", "graph-data-viewer")
    assert world.permissions(BOB, GRAPH) == VIEWER
    assert world.permissions(BOB, CAMPUS) == ()
    assert world.permissions(BOB, ACME) == ()


@pytest.mark.parametrize("scope", [ACME, CAMPUS])
def test_a_role_is_inherited_by_what_lies_within(world: World, scope: Scope) -> None:
    world.grant(ANN, scope, "bob", "graph-data-viewer")
    assert world.permissions(BOB, GRAPH) == VIEWER


def test_what_is_held_at_several_levels_adds_up(world: World) -> None:
    world.grant(ANN, ACME, "bob", "viewer")
    world.grant(ANN, GRAPH, "bob", "graph-data-viewer")
    assert set(world.permissions(BOB, GRAPH)) == {*VIEWER, *BUILT_IN_ROLES["viewer"].permissions}


def test_a_role_ends_at_its_moment_of_expiry(world: World) -> None:
    world.grant(ANN, GRAPH, "bob", "graph-data-viewer", world.now + SECOND)
    world.now += SECOND - 1
    assert world.permissions(BOB, GRAPH) == VIEWER
    world.now += 1
    assert world.permissions(BOB, GRAPH) == ()


def test_a_custom_role_gives_what_it_says_now(world: World) -> None:
    run(world.roles.create(ANN, "acme", "Asker", ["query/read"], role="asker"))
    world.grant(ANN, CAMPUS, "bob", "asker")
    assert world.permissions(BOB, GRAPH) == ("query/read",)
    run(world.roles.update(ANN, "acme", "asker", permissions=["models/*"]))
    assert world.permissions(BOB, GRAPH) == ("models/*",)


def test_a_scope_that_does_not_exist_and_one_without_a_role_answer_alike(world: World) -> None:
    assert world.permissions(EVE, GRAPH) == world.permissions(EVE, Scope("resource", "none")) == ()


def test_a_role_at_the_platform_does_not_tell_which_scopes_exist(world: World) -> None:
    world.grant(ROOT, PLATFORM, "bob", "organization-creator")
    expected = ("organizations/create",)
    assert world.permissions(BOB, ACME) == expected
    assert world.permissions(BOB, Scope("organization", "none")) == expected
    assert world.permissions(BOB, Scope("platform", "none")) == expected


def test_the_owner_of_the_platform_owns_all_organizations(world: World) -> None:
    assert "organizations/*" in world.permissions(ROOT, GRAPH)


def test_a_service_account_with_the_permission_asks_about_others(world: World) -> None:
    world.grant(ROOT, PLATFORM, "graph-server", "permission-checker")
    world.grant(ANN, GRAPH, "bob", "graph-data-viewer")
    assert run(world.access.permissions(CHECKER, GRAPH, "bob")) == VIEWER
    assert run(world.access.permissions(CHECKER, GRAPH, "nobody")) == ()


def test_asking_about_others_without_the_permission_is_not_found(world: World) -> None:
    world.grant(ROOT, Scope("organization", "acme"), "graph-server", "graph-data-viewer")
    with pytest.raises(ControlNotFound) as refused:
        run(world.access.permissions(CHECKER, GRAPH, "bob"))
    with pytest.raises(ControlNotFound) as missing:
        run(world.access.permissions(CHECKER, Scope("resource", "none"), "bob"))
    assert refused.value.message.replace("graph", "none") == missing.value.message


def test_asking_about_others_where_one_may_only_read_is_forbidden(world: World) -> None:
    world.grant(ANN, CAMPUS, "bob", "viewer")
    with pytest.raises(PermissionMissing, match="access/check"):
        run(world.access.permissions(BOB, GRAPH, "eve"))
    assert run(world.access.permissions(BOB, GRAPH, "bob")) == world.permissions(BOB, GRAPH)


def test_who_checks_for_an_organization_learns_nothing_of_the_platform(world: World) -> None:
    world.grant(ANN, ACME, "graph-server", "permission-checker")
    assert run(world.access.permissions(CHECKER, GRAPH, "root")) == ()
    assert "access/*" in run(world.access.permissions(CHECKER, GRAPH, "ann"))


def test_an_invitation_of_a_known_user_counts_before_they_come_again(world: World) -> None:
    world.grant(ROOT, PLATFORM, "graph-server", "permission-checker")
    run(world.users.see(BOB))
    run(
        world.assignments.grant(
            ANN, GRAPH, Principal("email", "bob@example.com"), "graph-data-viewer"
        )
    )
    assert run(world.access.permissions(CHECKER, GRAPH, "bob")) == VIEWER


def test_an_email_shown_more_than_a_week_ago_is_taken_for_nobodys(world: World) -> None:
    world.grant(ROOT, PLATFORM, "graph-server", "permission-checker")
    run(world.users.see(BOB))
    email = Principal("email", "bob@example.com")
    run(world.assignments.grant(ANN, GRAPH, email, "graph-data-viewer"))
    world.now += 7 * 86_400 * SECOND - 1
    assert run(world.access.permissions(CHECKER, GRAPH, "bob")) == VIEWER
    run(world.users.see(Actor("bob")))
    world.now += 1
    assert run(world.access.permissions(CHECKER, GRAPH, "bob")) == ()


def test_an_address_is_of_who_showed_it_last(world: World) -> None:
    world.grant(ROOT, PLATFORM, "graph-server", "permission-checker")
    run(world.users.see(BOB))
    run(world.users.see(Actor("new", "bob@example.com")))
    email = Principal("email", "bob@example.com")
    run(world.assignments.grant(ANN, GRAPH, email, "graph-data-viewer"))
    assert run(world.access.permissions(CHECKER, GRAPH, "bob")) == ()
    assert run(world.access.permissions(CHECKER, GRAPH, "new")) == VIEWER


def test_a_type_of_scope_that_there_is_not_is_refused_with_the_nearest() -> None:
    assert parse_scope("resource", "graph") == GRAPH
    with pytest.raises(InvalidArgument, match="Did you mean project"):
        parse_scope("projects", "campus")
    with pytest.raises(InvalidArgument, match="There are platform, organization"):
        parse_scope("", "campus")


def test_readable_resources_are_all_some_or_none(world: World) -> None:
    world.put_resource("second", "campus", "acme")
    world.grant(ANN, GRAPH, "bob", "viewer")
    world.grant(ANN, Scope("resource", "second"), "bob", "graph-data-viewer")
    session = world.runner.session
    assert find_readable_resources(session, ANN, "campus", world.now) is None
    assert find_readable_resources(session, BOB, "campus", world.now) == {"graph"}
    assert find_readable_resources(session, EVE, "campus", world.now) == frozenset()
    assert find_readable_resources(session, ANN, "none", world.now) == frozenset()
