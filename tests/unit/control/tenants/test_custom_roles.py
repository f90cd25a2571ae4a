"""Custom roles of an organization, and the table of permissions and built-in roles."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.control.tenants.access_world import (
    ACME,
    ANN,
    BOB,
    GRAPH,
    World,
    run,
)
from twinframe.access.permission_grammar import Grant, parse_permission
from twinframe.control.hosting.routes import HOSTED_ROUTES
from twinframe.control.tenants.catalogue import (
    BUILT_IN_ROLES,
    CONTROL_PERMISSIONS,
    DATA_PERMISSIONS,
    OWNER,
    build_grants,
    is_within,
    parse_role_permissions,
)
from twinframe.errors import (
    ControlConflict,
    ControlNotFound,
    GrantExceedsOwn,
    InvalidArgument,
)
from twinframe.http.access import list_permissions
from twinframe.mcp.tools import TOOLS


def test_a_role_is_defined_listed_changed_and_deleted(world: World) -> None:
    made = run(world.roles.create(ANN, "acme", "Asker", ["query/action", "query/read"]))
    assert made.permissions == ("query/read",)
    assert run(world.roles.list(ANN, "acme")).items == (made,)
    changed = run(world.roles.update(ANN, "acme", made.role, name="Questioner"))
    assert run(world.roles.read(ANN, "acme", made.role)) == changed
    assert (changed.name, changed.permissions) == ("Questioner", made.permissions)
    run(world.roles.delete(ANN, "acme", made.role))
    with pytest.raises(ControlNotFound):
        run(world.roles.read(ANN, "acme", made.role))


def test_a_role_that_is_held_is_deleted_only_together_with_its_assignments(world: World) -> None:
    run(world.roles.create(ANN, "acme", "Asker", ["query/read"], role="asker"))
    world.grant(ANN, GRAPH, "bob", "asker")
    with pytest.raises(ControlConflict, match="assigned 1 times"):
        run(world.roles.delete(ANN, "acme", "asker"))
    run(world.roles.delete(ANN, "acme", "asker", cascade=True))
    run(world.roles.create(ANN, "acme", "Asker", ["models/read"], role="asker"))
    assert world.permissions(BOB, GRAPH) == ()


def test_ids_and_names_of_roles_are_taken_once_in_an_organization(world: World) -> None:
    run(world.organizations.create(ANN, "Other", organization_id="other"))
    for organization in ("acme", "other"):
        run(world.roles.create(ANN, organization, "Asker", ["query/read"], role="asker"))
    with pytest.raises(ControlConflict, match="'asker' is taken"):
        run(world.roles.create(ANN, "acme", "Another", ["query/read"], role="asker"))
    with pytest.raises(ControlConflict, match="'owner' is taken"):
        run(world.roles.create(ANN, "acme", "Another", ["query/read"], role="owner"))
    with pytest.raises(ControlConflict, match="named 'Asker'"):
        run(world.roles.create(ANN, "acme", "Asker", ["query/read"], role="second"))
    run(world.roles.create(ANN, "acme", "Second", ["query/read"], role="second"))
    with pytest.raises(ControlConflict, match="named 'Asker'"):
        run(world.roles.update(ANN, "acme", "second", name="Asker"))


def test_nobody_puts_into_a_role_what_they_do_not_hold(world: World) -> None:
    run(
        world.roles.create(
            ANN, "acme", "Definer", ["organizations/read", "roles/*"], role="definer"
        )
    )
    world.grant(ANN, ACME, "bob", "definer")
    with pytest.raises(GrantExceedsOwn, match="organizations/write"):
        run(world.roles.create(BOB, "acme", "Mine", ["organizations/write", "roles/read"]))
    with pytest.raises(GrantExceedsOwn, match="access/write"):
        run(
            world.roles.update(
                BOB, "acme", "definer", permissions=["organizations/read", "access/write"]
            )
        )
    # what is there already may stay, and go
    run(world.roles.create(ANN, "acme", "Asker", ["query/read", "models/read"], role="asker"))
    run(world.roles.update(BOB, "acme", "asker", permissions=["query/read"]))


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("digitaltwin/read", "Did you mean digitaltwins/read"),
        ("*", "is no permission"),
        ("*/*", "is no permission"),
        ("mcp/tools", "is no permission"),
        ("query/writes", "Did you mean query/write"),
    ],
)
def test_what_is_no_permission_is_refused_with_the_nearest(wrong: str, hint: str) -> None:
    with pytest.raises(InvalidArgument, match=hint.replace("*", r"\*")):
        parse_role_permissions([wrong])


def test_a_role_has_some_permission_but_not_too_many() -> None:
    assert parse_role_permissions(["mcp/*", "digitaltwins/*"]) == ("mcp/*", "digitaltwins/*")
    with pytest.raises(InvalidArgument, match="1 to 200"):
        parse_role_permissions([])


def test_the_table_has_every_permission_that_an_operation_of_a_graph_asks_for() -> None:
    asked = {str(permission) for permission in list_permissions(HOSTED_ROUTES)}
    asked |= {permission for tool in TOOLS for permission in tool.permissions}
    assert set(DATA_PERMISSIONS) == {*asked, "mcp/*"}


def test_every_built_in_role_grants_what_there_is_and_the_owner_everything() -> None:
    for role in BUILT_IN_ROLES.values():
        assert parse_role_permissions(role.permissions) == role.permissions
    held = build_grants(BUILT_IN_ROLES[OWNER].permissions)
    for name in (*CONTROL_PERMISSIONS, *DATA_PERMISSIONS):
        (wanted,) = build_grants((name,))
        assert any(is_within(wanted, grant) for grant in held), name


SEGMENTS = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=3).map(tuple)
GRANTS = st.builds(Grant, SEGMENTS, st.booleans()).filter(
    lambda grant: grant.wildcard or len(grant.segments) > 1
)


@given(GRANTS, GRANTS)
def test_a_grant_lies_within_another_when_that_covers_all_it_covers(
    wanted: Grant, held: Grant
) -> None:
    names = [
        "/".join(parts) for size in (2, 3, 4) for parts in itertools.product("abc", repeat=size)
    ]
    everything = [parse_permission(name) for name in names]
    covered = all(held.covers(each) for each in everything if wanted.covers(each))
    assert is_within(wanted, held) == covered
