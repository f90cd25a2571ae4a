"""Use cases of resources: what is stored, shown and refused."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.unit.control.resources.resource_world import FAILURE, FINAL, World
from tests.unit.control.tenants.access_world import SECOND, START
from twinframe.control.records.listing import Slice
from twinframe.control.resources.documents import (
    OPERATIONS,
    RESOURCES,
    build_operation_view,
    build_view,
)
from twinframe.control.resources.operations import KEPT_OPERATIONS
from twinframe.control.resources.resources import parse_status
from twinframe.errors import (
    ControlConflict,
    ControlNotFound,
    InvalidArgument,
    StateConflict,
    ValidationFailed,
)
from twinframe.hooks.resource_types.base import ProvisionFailed
from twinframe.model.json import render_json
from twinframe.storage.control import ControlTransaction


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_response_object_has_exactly_the_members_of_the_wire(world: World) -> None:
    settings = {"zeta": 1, "alpha": {"b": 1, "a": 2}}
    created = world.create(settings_json=settings, sku="pro")
    document = orjson.loads(render_json(build_view(created, with_url=False)))
    assert document == {
        "resource_id": "one",
        "project_id": "prj",
        "name": "One",
        "type": "Platform.Graph",
        "sku": "pro",
        "status": "creating",
        "settings_json": settings,
        "created_at": "2027-01-15T08:00:00.000000Z",
        "updated_at": "2027-01-15T08:00:00.000000Z",
    }
    assert list(document["settings_json"]) == ["zeta", "alpha"]


def test_a_running_resource_has_its_address_but_not_in_answers_to_writes(world: World) -> None:
    world.create()
    assert "access_url" not in build_view(world.read())
    world.settle()
    assert build_view(world.read())["access_url"] == "http://graphs.test/graphs/one"
    changed = world.update()
    assert "access_url" not in build_view(changed, with_url=False)
    assert build_view(world.read())["access_url"] == "http://graphs.test/graphs/one"


def test_the_error_message_is_there_in_error_alone(world: World) -> None:
    world.moody.moods = [FINAL]
    world.create(type="Test.Moody")
    world.settle()
    view = build_view(world.read())
    assert (view["status"], view["error_message"]) == ("error", "never")
    assert "error_message" not in build_view(world.update())
    world.settle()
    assert "error_message" not in build_view(world.read())


def test_a_taken_id_is_refused_whoever_has_it(world: World) -> None:
    world.create()
    with pytest.raises(ControlConflict) as own:
        world.create()
    with pytest.raises(ControlConflict) as foreign:
        world.create(project="else")
    assert own.value.message == foreign.value.message  # it does not tell whose it is


def test_a_resource_of_no_project_is_refused(world: World) -> None:
    with pytest.raises(ControlNotFound, match="project 'none'"):
        world.create(project="none")
    assert world.list_work() == ()


def test_a_resource_is_found_in_its_project_alone(world: World) -> None:
    world.create()
    for call in (world.read, world.update, world.delete):
        with pytest.raises(ControlNotFound) as foreign:
            call(project="else")
        with pytest.raises(ControlNotFound) as missing:
            call("two")
        assert foreign.value.message.replace("one", "two") == missing.value.message


def test_a_change_keeps_what_it_does_not_name(world: World) -> None:
    world.create(sku="pro", settings_json={"b": 1, "a": 2})
    world.settle()
    world.pass_time(1)
    changed = world.update(name="Other")
    assert (changed.name, changed.sku, changed.settings_json) == ("Other", "pro", '{"b":1,"a":2}')
    assert (changed.created_at, changed.updated_at > START) == (START, True)
    world.settle()
    changed = world.update(settings_json={})
    assert (changed.name, changed.settings_json) == ("Other", "{}")


def test_settings_that_the_type_refuses_change_nothing(world: World) -> None:
    world.create()
    world.settle()
    with pytest.raises(ValidationFailed, match="not valid"):
        world.update(settings_json={"max_concurrent_connections": 0})
    with pytest.raises(ValidationFailed) as caught:
        world.update(settings_json={"database_name": "other"})
    assert "cannot be changed" in caught.value.details[0].message
    assert world.read().status == "running"
    assert len(world.history()) == 1


def test_a_change_needs_a_resource_at_rest(world: World) -> None:
    world.create()
    with pytest.raises(StateConflict, match="is creating"):
        world.update()
    world.settle()
    world.update()
    with pytest.raises(StateConflict, match="is updating"):
        world.update()
    world.settle()
    world.delete()
    with pytest.raises(StateConflict, match="is deleting"):
        world.update()
    world.settle()
    with pytest.raises(StateConflict, match="is terminated"):
        world.update()


def test_of_two_changes_at_once_one_is_refused(world: World) -> None:
    world.create()
    world.settle()
    change = world.reader.parse_update(b'{"name": "A"}')

    def apply(transaction: ControlTransaction) -> object:
        return world.resources.update(transaction, "prj", "one", change, "x")

    first, second = world.store.write([apply, apply])
    assert first.error is None
    assert isinstance(second.error, StateConflict)


def test_a_deletion_again_changes_nothing(world: World) -> None:
    world.create()
    first = world.delete()
    world.pass_time(5)
    assert world.delete() == first
    world.settle()
    for _ in range(2):
        with pytest.raises(StateConflict, match="is terminated"):
            world.delete()
    assert (world.read().status, world.list_files()) == ("terminated", set())
    assert [operation.type for operation in world.history()] == ["delete", "create"]


def test_a_deletion_while_creating_supersedes_the_creation(world: World) -> None:
    world.create()
    world.delete()
    world.settle()
    deletion, creation = world.history()
    assert (deletion.status, creation.status) == ("succeeded", "superseded")
    assert world.read().status == "terminated"


def test_a_tombstone_is_shown_for_its_time_and_then_gone(world: World) -> None:
    world.create()
    world.settle()
    world.delete()
    world.settle()
    tombstone = world.read()
    assert (tombstone.status, tombstone.access_url) == ("terminated", "")
    assert world.list() == ([], 0)
    assert world.list(status="terminated") == (["one"], 1)
    assert len(world.gone) == 1
    world.pass_time(7 * 24 * 3600 + 1)
    assert world.purge() == 1
    with pytest.raises(ControlNotFound):
        world.read()
    for kind in ("resource", "operation", "work"):
        assert world.store.session().count(kind) == 0


def test_an_id_is_free_for_its_project_at_once_and_for_others_without_the_tombstone(
    world: World,
) -> None:
    first = world.create()
    world.settle()
    world.delete()
    world.settle()
    with pytest.raises(ControlConflict, match="taken"):
        world.create(project="else")
    second = world.create()
    assert second.incarnation != first.incarnation
    world.settle()
    assert world.read().status == "running"
    assert world.list_files() == world.list_wanted_files() != set()
    assert [operation.type for operation in world.history()] == ["create"]
    world.delete()
    world.settle()
    world.pass_time(8 * 24 * 3600)
    assert world.purge() == 1
    assert world.create(project="else").project_id == "else"


@pytest.mark.parametrize("lot", [1, 2, 3, 100])
def test_more_ids_than_the_store_takes_at_once_are_one_listing(
    world: World, monkeypatch: pytest.MonkeyPatch, lot: int
) -> None:
    monkeypatch.setattr("twinframe.control.resources.resources.MOST_VALUES", lot)
    for number in range(8):
        world.create(f"r{number}")
    ids = {f"r{number}" for number in range(8) if number != 3} | {"none", "z"}
    wanted = ["r0", "r1", "r2", "r4", "r5", "r6", "r7"]
    for limit in range(1, 9):
        for offset in range(9):
            found = world.list(part=Slice(limit, offset), ids=ids)
            assert found == (wanted[offset : offset + limit], 7)


def test_the_listing_filters_and_pages(world: World) -> None:
    for number in range(7):
        kind = "Test.Moody" if number % 2 else "Platform.Graph"
        world.create(f"r{number}", type=kind)
    world.create("other", project="else")
    world.settle()
    world.delete("r0")
    assert world.list() == ([f"r{number}" for number in range(7)], 7)
    assert world.list(part=Slice(limit=2, offset=3)) == (["r3", "r4"], 7)
    assert world.list(part=Slice(limit=5, offset=50)) == ([], 7)
    assert world.list(type="Test.Moody") == (["r1", "r3", "r5"], 3)
    assert world.list(status="deleting") == (["r0"], 1)
    assert world.list(status="running", type="Platform.Graph") == (["r2", "r4", "r6"], 3)
    assert world.list(ids={"r1", "r2", "other"}) == (["r1", "r2"], 2)
    assert world.list(ids=set()) == ([], 0)
    with pytest.raises(InvalidArgument, match=r"Did you mean Test\.Moody"):
        world.list(type="Test.Mody")
    with pytest.raises(InvalidArgument, match="Did you mean running"):
        parse_status("runing")


def test_the_history_tells_each_change_of_state_with_reason_and_time(world: World) -> None:
    world.moody.moods = [FAILURE]
    world.create(type="Test.Moody")
    world.provision()
    world.pass_time(60)
    world.settle()
    world.update()
    world.settle()
    update, create = [build_operation_view(operation) for operation in world.history()]
    assert create["note"] == "in a good mood"
    assert create["requested_by"] == "ann"
    assert create["transitions"] == [
        {
            "at": "2027-01-15T08:00:00.000000Z",
            "from": None,
            "to": "creating",
            "reason": "creation was asked for",
        },
        {
            "at": "2027-01-15T08:01:00.000000Z",
            "from": "creating",
            "to": "running",
            "reason": "attempt 2 succeeded",
        },
    ]
    assert [(each["number"], each["outcome"]) for each in create["attempts"]] == [
        (1, "not today"),
        (2, "succeeded"),
    ]
    assert [each["to"] for each in update["transitions"]] == ["updating", "running"]


def test_the_history_of_one_resource_is_bounded(world: World) -> None:
    world.create(type="Test.Moody")
    for _ in range(KEPT_OPERATIONS + 3):
        world.provision()
        world.update()
    session = world.store.session()
    assert session.count(OPERATIONS.kind) == KEPT_OPERATIONS
    latest = world.history()[0]
    assert latest.id.endswith(f"{KEPT_OPERATIONS + 4:010}")
    assert len({operation.id for operation in world.history()}) == 50


def test_times_never_go_back_with_the_clock(world: World) -> None:
    world.create()
    world.settle()
    world.now -= 3600 * SECOND
    assert world.update().updated_at >= START
    world.settle()
    found = RESOURCES.read(world.store.session(), "one")
    assert found is not None
    assert (found.status, found.updated_at >= START) == ("running", True)


def test_a_clock_set_back_takes_no_time_of_operations_back(world: World) -> None:
    world.create(type="Test.Moody")
    world.settle()
    created = world.read().updated_at
    world.now -= 3 * 365 * 86_400 * SECOND
    world.moody.moods.append(ProvisionFailed("not today"))
    world.update()
    assert world.read().updated_at == created
    world.provision()
    (attempt,) = world.history()[0].attempts
    assert attempt.at == created
    world.settle()
    newest, oldest = world.history()
    assert oldest.updated_at <= newest.created_at <= newest.updated_at <= world.read().updated_at
    moments = [each.at for operation in (oldest, newest) for each in operation.transitions]
    assert moments == sorted(moments)
    assert world.read().status == "running"
