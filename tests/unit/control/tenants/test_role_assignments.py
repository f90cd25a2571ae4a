"""Granting, listing, changing and revoking roles."""

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
from twinframe.control.records.actors import Actor, Principal, parse_principal
from twinframe.control.records.scopes import Scope
from twinframe.control.tenants.assignments import Reach
from twinframe.control.tenants.bootstrap import bootstrap
from twinframe.control.tenants.catalogue import BUILT_IN_ROLES
from twinframe.errors import (
    ControlConflict,
    ControlNotFound,
    GrantExceedsOwn,
    InvalidArgument,
    LastOwner,
    PermissionMissing,
)


def make_manager(world: World) -> None:
    """Bob may grant, and holds the graph's reader role besides."""
    run(
        world.roles.create(
            ANN,
            "acme",
            "Manager",
            ["access/read", "access/write", "projects/read", "query/read"],
            role="manager",
        )
    )
    world.grant(ANN, CAMPUS, "bob", "manager")


def test_nobody_grants_what_they_do_not_hold(world: World) -> None:
    make_manager(world)
    with pytest.raises(GrantExceedsOwn) as refused:
        world.grant(BOB, CAMPUS, "eve", "graph-data-viewer")
    assert "digitaltwins/read" in refused.value.grants
    assert "query/read" not in refused.value.grants
    world.grant(BOB, CAMPUS, "eve", "manager")
    assert "query/read" in world.permissions(EVE, GRAPH)


def test_nobody_grants_for_longer_than_they_hold_it(world: World) -> None:
    end = world.now + 10 * SECOND
    world.grant(ANN, ACME, "bob", "owner", end)
    for until in (None, end + 1):
        with pytest.raises(GrantExceedsOwn):
            world.grant(BOB, ACME, "eve", "viewer", until)
    world.grant(BOB, ACME, "eve", "viewer", end)


def test_nobody_prolongs_their_own_role(world: World) -> None:
    end = world.now + 10 * SECOND
    own = world.grant(ANN, ACME, "bob", "owner", end)
    with pytest.raises(GrantExceedsOwn):
        run(world.assignments.change(BOB, own.id, None))
    run(world.assignments.change(ANN, own.id, None))
    world.now = end
    assert world.permissions(BOB, ACME) != ()


def test_a_lesser_administrator_does_not_throw_out_an_owner(world: World) -> None:
    make_manager(world)
    owner = world.grant(ANN, CAMPUS, "eve", "owner")
    with pytest.raises(GrantExceedsOwn):
        run(world.assignments.revoke(BOB, owner.id))
    run(world.assignments.revoke(ANN, owner.id))
    assert world.permissions(EVE, CAMPUS) == ()


def test_who_may_read_but_not_grant_is_forbidden_and_others_find_nothing(world: World) -> None:
    world.grant(ANN, ACME, "bob", "viewer")
    with pytest.raises(PermissionMissing, match="access/write"):
        world.grant(BOB, ACME, "eve", "viewer")
    with pytest.raises(ControlNotFound):
        world.grant(EVE, ACME, "eve", "viewer")


def test_a_role_is_granted_once_until_it_has_expired(world: World) -> None:
    first = world.grant(ANN, ACME, "bob", "viewer", world.now + SECOND)
    with pytest.raises(ControlConflict, match="'viewer' there already"):
        world.grant(ANN, ACME, "bob", "viewer")
    world.now += SECOND
    second = world.grant(ANN, ACME, "bob", "viewer")
    assert first.id != second.id
    assert run(world.assignments.list(ANN, ACME)).total == 2


def test_an_unknown_role_is_refused_with_the_nearest_name(world: World) -> None:
    with pytest.raises(InvalidArgument, match="Did you mean viewer"):
        world.grant(ANN, ACME, "bob", "viewr")


def test_a_custom_role_of_another_organization_is_no_role_here(world: World) -> None:
    run(world.organizations.create(ANN, "Other", organization_id="other"))
    run(world.roles.create(ANN, "other", "Special", ["query/read"], role="special"))
    for role in ("special", "other/special"):
        with pytest.raises(InvalidArgument, match="There is no role"):
            world.grant(ANN, ACME, "bob", role)


def test_an_expiry_in_the_past_is_refused(world: World) -> None:
    with pytest.raises(InvalidArgument, match="future"):
        world.grant(ANN, ACME, "bob", "viewer", world.now)


def test_the_last_owner_stays(world: World) -> None:
    (own,) = run(world.assignments.list(ANN, ACME)).items
    with pytest.raises(LastOwner):
        run(world.assignments.revoke(ANN, own.id))
    with pytest.raises(LastOwner):
        run(world.assignments.change(ANN, own.id, world.now + SECOND))
    assert run(world.assignments.read(ANN, own.id)) == own


def test_neither_an_invited_nor_a_temporary_owner_is_an_owner_who_stays(world: World) -> None:
    (own,) = run(world.assignments.list(ANN, ACME)).items
    world.grant(ANN, ACME, "eve", "owner", world.now + SECOND)
    run(world.assignments.grant(ANN, ACME, Principal("email", "bob@example.com"), "owner"))
    with pytest.raises(LastOwner):
        run(world.assignments.revoke(ANN, own.id))
    run(world.users.see(BOB))
    run(world.assignments.revoke(ANN, own.id))
    assert "organizations/read" not in world.permissions(ANN, ACME)


def test_an_owner_who_has_never_called_is_not_one_who_stays(world: World) -> None:
    (own,) = run(world.assignments.list(ANN, ACME)).items
    world.grant(ANN, ACME, "bob", "owner")
    with pytest.raises(LastOwner, match="signed in"):
        run(world.assignments.revoke(ANN, own.id))
    run(world.users.see(Actor("bob")))
    run(world.assignments.revoke(ANN, own.id))


def test_the_last_owner_of_a_project_may_go(world: World) -> None:
    owner = world.grant(ANN, CAMPUS, "bob", "owner")
    run(world.assignments.revoke(BOB, owner.id))
    assert world.permissions(BOB, CAMPUS) == ()


def test_everybody_may_read_and_give_up_their_own_role(world: World) -> None:
    own = world.grant(ANN, GRAPH, "bob", "graph-data-viewer")
    assert run(world.assignments.read(BOB, own.id)) == own
    assert run(world.assignments.list_own(BOB)).items == (own,)
    with pytest.raises(PermissionMissing):
        run(world.assignments.change(BOB, own.id, world.now + SECOND))
    run(world.assignments.revoke(BOB, own.id))
    assert world.permissions(BOB, GRAPH) == ()


def test_an_assignment_of_others_is_not_found(world: World) -> None:
    other = world.grant(ANN, GRAPH, "bob", "viewer")
    for call in (world.assignments.read, world.assignments.revoke):
        with pytest.raises(ControlNotFound) as hidden:
            run(call(EVE, other.id))
        with pytest.raises(ControlNotFound) as missing:
            run(call(EVE, "asg-0000"))
        assert hidden.value.message.replace(other.id, "asg-0000") == missing.value.message


def test_an_invitation_becomes_the_role_of_who_first_shows_the_email(world: World) -> None:
    invited = run(
        world.assignments.grant(
            ANN, GRAPH, parse_principal(email="Bob@Example.com"), "graph-data-viewer"
        )
    )
    assert (invited.principal_kind, invited.principal) == ("email", "bob@example.com")
    run(world.users.see(Actor("bob", "BOB@example.com")))
    later = Actor("thief", "bob@example.com")
    run(world.users.see(later))
    assert world.permissions(later, GRAPH) == ()
    assert world.permissions(Actor("bob"), GRAPH) != ()
    assert run(world.assignments.read(ANN, invited.id)).principal == "bob"


@pytest.mark.parametrize("invited_for", [None, 20])
def test_an_invitation_to_what_one_holds_keeps_the_longer_time(
    world: World, invited_for: int | None
) -> None:
    world.grant(ANN, ACME, "bob", "viewer", world.now + 10 * SECOND)
    until = None if invited_for is None else world.now + invited_for * SECOND
    email = Principal("email", "bob@example.com")
    run(world.assignments.grant(ANN, ACME, email, "viewer", expires_at=until))
    run(world.users.see(BOB))
    (held,) = run(world.assignments.list_own(BOB)).items
    assert held.expires_at == until


def test_listings_reach_here_above_and_below(world: World) -> None:
    world.grant(ANN, CAMPUS, "bob", "viewer")
    world.grant(ANN, GRAPH, "eve", "viewer")

    def list_holders(scope: Scope, reach: Reach) -> set[str]:
        listed = run(world.assignments.list(ANN, scope, reach=reach))
        assert listed.total == len(listed.items)
        return {each.principal for each in listed.items}

    assert list_holders(CAMPUS, Reach.HERE) == {"bob"}
    assert list_holders(CAMPUS, Reach.BELOW) == {"bob", "eve"}
    assert list_holders(ACME, Reach.BELOW) == {"ann", "bob", "eve"}
    assert list_holders(GRAPH, Reach.BELOW) == {"eve"}
    # SEC: who owns the platform is not shown to the owner of an organization
    assert list_holders(GRAPH, Reach.INHERITED) == {"ann", "bob", "eve"}
    inherited = run(world.assignments.list(ROOT, GRAPH, reach=Reach.INHERITED)).items
    assert {each.principal for each in inherited} == {"root", "ann", "bob", "eve"}


def test_nothing_is_granted_at_a_resource_that_is_only_remembered(world: World) -> None:
    world.put_resource("graph", "campus", "acme", "terminated")
    with pytest.raises(ControlConflict, match="'graph' was deleted"):
        world.grant(ANN, GRAPH, "bob", "viewer")
    with pytest.raises(ControlNotFound):
        world.grant(EVE, GRAPH, "bob", "viewer")
    world.put_resource("graph", "campus", "acme", "deleting")
    world.grant(ANN, GRAPH, "bob", "viewer")


def test_the_operator_makes_a_temporary_owner_one_for_good(world: World) -> None:
    world.grant(ROOT, PLATFORM, "eve", "owner", world.now + SECOND)
    made = run(bootstrap(world.context, Principal("subject", "eve")))
    assert made.expires_at is None
    assert run(world.assignments.list_own(EVE)).items == (made,)


def test_who_may_see_who_holds_a_role_but_not_grant_it_does_not_revoke_it(world: World) -> None:
    other = world.grant(ANN, CAMPUS, "eve", "viewer")
    world.grant(ANN, CAMPUS, "bob", "editor")
    assert run(world.assignments.read(BOB, other.id)) == other
    with pytest.raises(PermissionMissing, match="access/write"):
        run(world.assignments.revoke(BOB, other.id))
    with pytest.raises(PermissionMissing, match="access/write"):
        run(world.assignments.change(BOB, other.id, world.now + SECOND))


def test_the_owner_of_the_platform_lists_all_assignments(world: World) -> None:
    world.grant(ANN, GRAPH, "eve", "viewer")
    listed = run(world.assignments.list(ROOT, PLATFORM, reach=Reach.BELOW)).items
    assert {each.principal for each in listed} == {"root", "ann", "eve"}
    here = run(world.assignments.list(ROOT, PLATFORM)).items
    assert {each.principal for each in here} == {"root", "ann"}


def test_an_invitation_shorter_than_what_one_holds_changes_nothing(world: World) -> None:
    own = world.grant(ANN, ACME, "bob", "viewer")
    email = Principal("email", "bob@example.com")
    until = world.now + SECOND
    run(world.assignments.grant(ANN, ACME, email, "viewer", expires_at=until))
    run(world.users.see(BOB))
    assert run(world.assignments.list_own(BOB)).items == (own,)


def test_a_project_manager_sees_nothing_of_the_organizations_owners(world: World) -> None:
    make_manager(world)
    listed = run(world.assignments.list(BOB, GRAPH, reach=Reach.INHERITED))
    assert {each.principal for each in listed.items} == {"bob"}


def test_the_operator_makes_owners_of_the_platform_again_and_again(world: World) -> None:
    owner = Principal("email", "eve@example.org")
    first = run(bootstrap(world.context, owner))
    assert run(bootstrap(world.context, owner)) == first
    run(world.users.see(EVE))
    assert set(world.permissions(EVE, PLATFORM)) == set(BUILT_IN_ROLES["owner"].permissions)
    (own,) = (each for each in run(world.assignments.list_own(ROOT)).items)
    run(world.assignments.revoke(EVE, own.id))
    (own,) = (each for each in run(world.assignments.list_own(EVE)).items)
    with pytest.raises(LastOwner, match="platform"):
        run(world.assignments.revoke(EVE, own.id))


def test_exactly_one_of_subject_and_email_names_whom_a_role_is_for() -> None:
    for wrong in ({}, {"subject": "a", "email": "a@b"}, {"email": "no"}, {"subject": "a\n"}):
        with pytest.raises(InvalidArgument):
            parse_principal(**wrong)
