"""Organizations, projects and users: created, listed, renamed, deleted, seen."""

from __future__ import annotations

import pytest

from tests.unit.control.tenants.access_world import (
    ACME,
    ANN,
    BOB,
    CAMPUS,
    EVE,
    PLATFORM,
    ROOT,
    SECOND,
    START,
    World,
    run,
)
from twinframe.control.records.actors import Actor
from twinframe.control.records.listing import Slice
from twinframe.control.records.scopes import Scope
from twinframe.errors import (
    ControlConflict,
    ControlNotFound,
    InvalidArgument,
    PermissionMissing,
)


def list_projects(world: World, actor: Actor, **more: str) -> list[str]:
    listed = run(world.projects.list(actor, **more))
    assert listed.total == len(listed.items)
    return [each.id for each in listed.items]


def test_only_who_was_granted_it_creates_organizations(world: World) -> None:
    with pytest.raises(PermissionMissing, match="organizations/create"):
        run(world.organizations.create(BOB, "Bob's"))
    assert run(world.organizations.list(BOB)).total == 0


def test_who_creates_an_organization_owns_it(world: World) -> None:
    world.grant(ROOT, PLATFORM, BOB.subject, "organization-creator")
    made = run(world.organizations.create(BOB, " Bob's "))
    assert made.name == "Bob's"
    assert run(world.organizations.list(BOB)).items == (made,)
    assert "organizations/delete" not in world.permissions(EVE, Scope("organization", made.id))
    assert "organizations/*" in world.permissions(BOB, Scope("organization", made.id))


def test_an_organization_is_renamed_and_keeps_its_time_of_creation(world: World) -> None:
    world.now += SECOND
    renamed = run(world.organizations.update(ANN, "acme", "Acme Works"))
    assert (renamed.created_at, renamed.updated_at) == (START, START + SECOND)
    assert run(world.organizations.read(ANN, "acme")) == renamed


@pytest.mark.parametrize("wrong", ["", "A", "-a", "a-", "a" * 64, "a.b", "é", "a\n"])
def test_ids_that_could_be_no_host_name_are_refused(world: World, wrong: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot be the id"):
        run(world.organizations.create(ANN, "Name", organization_id=wrong))
    with pytest.raises(InvalidArgument, match="cannot be the id"):
        run(world.projects.create(ANN, "acme", "Name", project_id=wrong))
    with pytest.raises(InvalidArgument, match="cannot be the id"):
        run(world.roles.create(ANN, "acme", "Name", ["query/read"], role=wrong))


@pytest.mark.parametrize(
    "name",
    [
        "B\u00e2timent\u00a03",
        "\u6771\u4eac\u3000\u5efa\u7269",
        "\u0646\u06cc\u0645\u200c\u0641\u0627\u0635\u0644\u0647",
    ],
)
def test_names_are_written_as_their_languages_do(world: World, name: str) -> None:
    """A blank that does not break, one as wide as a letter, a joiner that Persian words need."""
    assert run(world.projects.create(ANN, "acme", name)).name == name


@pytest.mark.parametrize(
    "wrong", ["", "  ", "a\nb", "a" * 201, "\u200d", "a\u202eb", "a\u2028b", "a\u2066b"]
)
def test_names_that_cannot_be_shown_are_refused(world: World, wrong: str) -> None:
    with pytest.raises(InvalidArgument, match="The name of"):
        run(world.projects.create(ANN, "acme", wrong))


def test_an_organization_with_projects_is_not_deleted(world: World) -> None:
    with pytest.raises(ControlConflict, match="holds 1 projects"):
        run(world.organizations.delete(ANN, "acme"))
    world.put_resource("graph", "campus", "acme", "terminated")
    run(world.projects.delete(ANN, "campus"))
    run(world.organizations.delete(ANN, "acme"))
    with pytest.raises(ControlNotFound):
        run(world.organizations.read(ANN, "acme"))


def test_a_project_with_resources_is_not_deleted(world: World) -> None:
    with pytest.raises(ControlConflict, match="holds 1 resources"):
        run(world.projects.delete(ANN, "campus"))
    world.put_resource("graph", "campus", "acme", "terminated")
    run(world.projects.delete(ANN, "campus"))
    assert list_projects(world, ANN) == []


def test_deleting_takes_along_assignments_and_roles_but_not_the_log(world: World) -> None:
    run(world.roles.create(ANN, "acme", "Asker", ["query/read"], role="asker"))
    world.grant(ANN, CAMPUS, "bob", "asker")
    world.put_resource("graph", "campus", "acme", "terminated")
    run(world.projects.delete(ANN, "campus"))
    run(world.organizations.delete(ANN, "acme"))
    assert run(world.assignments.list_own(BOB)).total == 0
    actions = [line.entry.action for line in run(world.audit.list(ROOT, ACME)).items]
    assert actions[0] == "organizations/delete"
    assert actions[-2:] == ["role-assignments/create", "organizations/create"]
    with pytest.raises(ControlNotFound):
        run(world.audit.list(ANN, ACME))


def test_an_id_is_never_given_again(world: World) -> None:
    world.put_resource("graph", "campus", "acme", "terminated")
    run(world.projects.delete(ANN, "campus"))
    with pytest.raises(ControlConflict, match="'campus' is taken"):
        run(world.projects.create(ANN, "acme", "Again", project_id="campus"))
    run(world.organizations.delete(ANN, "acme"))
    with pytest.raises(ControlConflict, match="'acme' is taken"):
        run(world.organizations.create(ANN, "Again", organization_id="acme"))


def test_listings_show_what_one_may_read_and_no_more(world: World) -> None:
    for parent in ("beta", "gamma"):
        run(world.organizations.create(ANN, parent, organization_id=parent))
        for number in (1, 2):
            run(world.projects.create(ANN, parent, "Project", project_id=f"{number}-{parent}"))
    world.grant(ANN, Scope("organization", "beta"), "bob", "viewer")
    world.grant(ANN, Scope("project", "2-gamma"), "bob", "viewer")
    world.grant(ANN, Scope("project", "2-beta"), "bob", "viewer")
    world.grant(ANN, ACME, "bob", "graph-data-viewer")
    assert list_projects(world, BOB) == ["1-beta", "2-beta", "2-gamma"]
    assert list_projects(world, BOB, organization_id="beta") == ["1-beta", "2-beta"]
    assert list_projects(world, BOB, organization_id="gamma") == ["2-gamma"]
    assert list_projects(world, BOB, organization_id="acme") == []
    assert list_projects(world, ROOT, organization_id="gamma") == ["1-gamma", "2-gamma"]
    everything = ["1-beta", "1-gamma", "2-beta", "2-gamma", "campus"]
    assert list_projects(world, ROOT) == list_projects(world, ANN) == everything
    assert [each.id for each in run(world.organizations.list(BOB)).items] == ["beta"]


@pytest.mark.parametrize("who", [ANN, ROOT, BOB])
def test_pages_put_together_are_the_listing(world: World, who: Actor) -> None:
    for number in range(7):
        run(world.projects.create(ANN, "acme", "P", project_id=f"p{number}"))
        world.grant(ANN, Scope("project", f"p{number}"), "bob", "viewer")
    whole = run(world.projects.list(who, Slice(100))).items
    pages = [run(world.projects.list(who, Slice(3, offset))) for offset in range(0, 12, 3)]
    assert tuple(each for page in pages for each in page.items) == whole
    assert {page.total for page in pages} == {len(whole)}


@pytest.mark.parametrize("who", [ANN, ROOT, BOB])
def test_pages_of_organizations_put_together_are_the_listing(world: World, who: Actor) -> None:
    for number in range(4):
        run(world.organizations.create(ANN, "O", organization_id=f"o{number}"))
        world.grant(ANN, Scope("organization", f"o{number}"), "bob", "viewer")
    whole = run(world.organizations.list(who)).items
    assert len(whole) == (4 if who == BOB else 5)
    pages = [run(world.organizations.list(who, Slice(2, offset))) for offset in range(0, 8, 2)]
    assert [len(page.items) for page in pages] == [2, 2, len(whole) - 4, 0]
    assert tuple(each for page in pages for each in page.items) == whole
    assert {page.total for page in pages} == {len(whole)}


def test_pages_out_of_bounds_are_refused() -> None:
    for limit, offset in ((0, 0), (1001, 0), (1, -1), (-1, 0)):
        with pytest.raises(InvalidArgument):
            Slice(limit, offset)


def test_a_user_is_known_from_the_first_call_on(world: World) -> None:
    first = run(world.users.see(BOB))
    assert (first.first_seen, first.last_seen, first.email) == (START, START, "bob@example.com")
    assert run(world.users.read(BOB, "bob")) == run(world.users.read(ROOT, "bob")) == first
    with pytest.raises(ControlNotFound):
        run(world.users.read(EVE, "bob"))
    assert run(world.users.list(ROOT)).items == (first,)
    with pytest.raises(PermissionMissing):
        run(world.users.list(ANN))


def test_seeing_somebody_again_writes_once_an_hour_or_for_a_new_email(world: World) -> None:
    run(world.users.see(BOB))
    writes = world.runner.writes
    world.now += 3599 * SECOND
    run(world.users.see(BOB))
    run(world.users.see(Actor("bob")))
    assert world.runner.writes == writes
    world.now += SECOND
    assert run(world.users.see(Actor("bob"))).last_seen == world.now
    assert run(world.users.see(Actor("bob", "new@example.com"))).email == "new@example.com"
    assert run(world.users.read(BOB, "bob")).first_seen == START


def test_who_cannot_be_kept_is_refused(world: World) -> None:
    for actor in (Actor(""), Actor("a\x00"), Actor("a", "no email"), Actor("\ud800")):
        with pytest.raises(InvalidArgument):
            run(world.users.see(actor))


def test_the_platform_is_neither_read_nor_renamed_as_an_organization(world: World) -> None:
    with pytest.raises(ControlNotFound):
        run(world.organizations.read(ROOT, "platform"))
    assert "organizations/*" in world.permissions(ROOT, PLATFORM)
