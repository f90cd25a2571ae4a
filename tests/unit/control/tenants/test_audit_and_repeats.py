"""The audit log, answers kept under Idempotency-Keys, and the forms of times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from twinframe.control.records.actors import Actor
from twinframe.control.records.idempotency import RequestKey, parse_request_key
from twinframe.control.records.listing import Slice
from twinframe.control.records.names import parse_moment, render_moment
from twinframe.errors import (
    ControlNotFound,
    IdempotencyMismatch,
    InvalidArgument,
    PermissionMissing,
)

DAY = 86_400 * SECOND


def test_a_change_is_logged_with_who_what_when_before_and_after(world: World) -> None:
    world.now += SECOND
    run(world.projects.update(ANN, "campus", "Campus West"))
    newest = run(world.audit.list(ANN, CAMPUS)).items[0].entry
    assert (newest.actor, newest.actor_email, newest.actor_kind) == ("ann", ANN.email, "user")
    assert (newest.action, newest.target) == ("projects/update", "project:campus")
    assert (newest.at, newest.request_id) == (world.now, "r-ann")
    assert newest.before is not None
    assert newest.after is not None
    assert (newest.before["name"], newest.after["name"]) == ("Campus", "Campus West")


def test_a_clock_set_back_takes_no_time_back(world: World) -> None:
    late = world.now = world.now + 3 * 365 * DAY
    run(world.projects.update(ANN, "campus", "Campus West"))
    run(world.users.see(EVE))
    world.now -= 3 * 365 * DAY
    project = run(world.projects.update(ANN, "campus", "Campus East"))
    role = run(world.roles.create(ANN, "acme", "Reader", ["projects/read"], role="reader"))
    role = run(world.roles.update(ANN, "acme", "reader", name="Readers"))
    organization = run(world.organizations.update(ANN, "acme", "Acme Ltd"))
    granted = world.grant(ANN, CAMPUS, "bob", "viewer")
    new = run(world.projects.create(ANN, "acme", "New", project_id="new"))
    run(world.users.see(EVE))
    assert run(world.users.read(EVE, EVE.subject)).last_seen == late
    told = [project.updated_at, role.created_at, role.updated_at, organization.updated_at]
    assert [*told, granted.created_at, new.created_at, new.updated_at] == [late] * 7
    times = [line.entry.at for line in run(world.audit.list(ANN, ACME)).items]
    assert times == sorted(times, reverse=True)
    assert times[0] == late
    world.now = late + SECOND
    assert run(world.projects.update(ANN, "campus", "Campus")).updated_at == late + SECOND


def test_what_failed_is_not_logged(world: World) -> None:
    before = run(world.audit.list(ANN, ACME)).total
    with pytest.raises(ControlNotFound):
        run(world.projects.update(EVE, "campus", "Mine"))
    assert run(world.audit.list(ANN, ACME)).total == before


def test_each_scope_shows_what_happened_in_it(world: World) -> None:
    world.grant(ANN, GRAPH, "bob", "viewer")

    def list_targets(actor: Actor, scope: object) -> list[str]:
        listed = run(world.audit.list(actor, scope))  # type: ignore[arg-type]  # a scope
        return [line.entry.target for line in listed.items]

    assert list_targets(ANN, GRAPH) == ["resource:graph"]
    assert list_targets(ANN, CAMPUS) == ["resource:graph", "project:campus"]
    assert list_targets(ANN, ACME)[-2:] == ["organization:acme", "organization:acme"]
    assert set(list_targets(ROOT, PLATFORM)) == {"platform:platform"}
    with pytest.raises(PermissionMissing):
        run(world.audit.list(ANN, PLATFORM))
    with pytest.raises(PermissionMissing):
        run(world.audit.list(BOB, GRAPH))


def test_pages_of_the_log_go_on_where_they_ended_while_it_grows(world: World) -> None:
    for number in range(5):
        run(world.projects.update(ANN, "campus", f"Name {number}"))
    first = run(world.audit.list(ANN, CAMPUS, Slice(3)))
    run(world.projects.update(ANN, "campus", "Newer"))
    second = run(world.audit.list(ANN, CAMPUS, Slice(3), before=first.items[-1].position))
    positions = [line.position for line in (*first.items, *second.items)]
    assert positions == sorted(set(positions), reverse=True)
    assert (first.total, second.total, len(positions)) == (6, 7, 6)
    third = run(world.audit.list(ANN, CAMPUS, Slice(3, 3), before=first.items[-1].position))
    assert third.items == ()


def test_a_repeated_request_has_one_effect_and_one_answer(world: World) -> None:
    request = parse_request_key("key-1", "POST /projects", b"{}")
    first = run(world.projects.create(ANN, "acme", "P", request=request))
    world.now += DAY - 1
    run(world.projects.update(ANN, first.id, "Renamed"))
    assert run(world.projects.create(ANN, "acme", "P", request=request)) == first
    assert run(world.projects.list(ANN)).total == 2


def test_another_request_under_a_key_is_refused(world: World) -> None:
    for body in (b"{}", b"{ }"):
        request = parse_request_key("key-1", "POST /projects", body)
        if body == b"{}":
            run(world.projects.create(ANN, "acme", "P", request=request))
        else:
            with pytest.raises(IdempotencyMismatch, match="'key-1'"):
                run(world.projects.create(ANN, "acme", "P", request=request))


def test_a_key_may_be_used_again_when_its_answer_expired(world: World) -> None:
    request = RequestKey("key-1", "f")
    first = run(world.projects.create(ANN, "acme", "P", request=request))
    world.now += DAY
    assert run(world.projects.create(ANN, "acme", "P", request=request)).id != first.id


def test_the_key_of_one_caller_means_nothing_to_another(world: World) -> None:
    request = RequestKey("key-1", "f")
    first = run(world.projects.create(ANN, "acme", "P", request=request))
    world.grant(ANN, ACME, "bob", "owner")
    assert run(world.projects.create(BOB, "acme", "P", request=request)).id != first.id


def test_who_lost_the_permission_gets_no_kept_answer(world: World) -> None:
    own = world.grant(ANN, ACME, "bob", "editor")
    request = RequestKey("key-1", "f")
    run(world.projects.create(BOB, "acme", "P", request=request))
    run(world.assignments.revoke(ANN, own.id))
    with pytest.raises(ControlNotFound):
        run(world.projects.create(BOB, "acme", "P", request=request))


def test_a_request_that_failed_may_be_tried_again_under_its_key(world: World) -> None:
    request = RequestKey("key-1", "f")
    with pytest.raises(ControlNotFound):
        run(world.projects.create(BOB, "acme", "P", request=request))
    world.grant(ANN, ACME, "bob", "editor")
    run(world.projects.create(BOB, "acme", "P", request=request))


def test_expired_answers_do_not_pile_up(world: World) -> None:
    for number in range(20):
        request = RequestKey(f"key-{number}", "f")
        run(world.roles.create(ANN, "acme", f"R{number}", ["query/read"], request=request))
    world.now += DAY
    for number in range(2):
        request = RequestKey(f"later-{number}", "f")
        run(world.roles.create(ANN, "acme", f"S{number}", ["query/read"], request=request))
    assert world.runner.session.count("idempotency") == 2


@pytest.mark.parametrize("key", ["", "a b", "é", "a" * 256, "a\n"])
def test_a_key_is_visible_ascii_of_bounded_length(key: str) -> None:
    with pytest.raises(InvalidArgument, match="Idempotency-Key"):
        parse_request_key(key, "POST /", b"")


@given(st.integers(0, (2**63 - 1) // 1000))
def test_a_time_is_written_so_that_it_is_read_as_it_was(microseconds: int) -> None:
    assert parse_moment(render_moment(microseconds * 1000)) == microseconds * 1000


@pytest.mark.parametrize(
    "text",
    [
        "2030-01-31",
        "2030-01-31T12:00:00",
        "2030-02-30T12:00:00Z",
        "9999-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "now",
        "2030-01-31T12:00:00+99:00",
        "٢٠٣٠-01-31T12:00:00Z",
    ],
)
def test_what_is_no_exact_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_moment(text)


def test_times_may_state_another_zone() -> None:
    assert parse_moment("2030-01-31T13:00:00.5+01:00") == parse_moment("2030-01-31T12:00:00.5Z")
