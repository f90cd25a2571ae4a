"""The operations of the vendor's SDK as its own classes list them, and one play of each.

A play calls an operation by the way a program would: the client's method where there is one, else
the generated group. It judges nothing but what it asserts; `test_sdk_operations` counts.
"""

from __future__ import annotations

import inspect
import json
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Final

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.digitaltwins.core import DigitalTwinsClient, DigitalTwinsEventRoute
from azure.digitaltwins.core._generated import operations
from azure.digitaltwins.core._generated.aio import operations as aio_operations
from azure.digitaltwins.core._generated.models import ImportJob
from azure.digitaltwins.core._version import VERSION
from azure.digitaltwins.core.aio import DigitalTwinsClient as AsyncDigitalTwinsClient

from tests.e2e.clients import AsyncClient, SyncClient
from tests.e2e.world import World
from twinframe.http.routes import ROUTES

FINAL: Final = ("succeeded", "failed", "cancelled")
ENDPOINT: Final = "lines"

# --- what there is --------------------------------------------------------------------------------


def list_operations(module: Any = operations) -> list[str]:
    """Every operation of the generated client as `group.method`, groups as attributes of it."""
    return [
        f"{_build_attribute(name)}.{method}"
        for name in sorted(module.__all__)
        if name.endswith("Operations")
        for method in list_methods(getattr(module, name))
    ]


def list_methods(kind: type) -> list[str]:
    """The public methods of a class that are its own."""
    own = vars(kind).items()
    return [name for name, value in own if inspect.isfunction(value) and not name.startswith("_")]


def _build_attribute(group: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", group.removesuffix("Operations")).lower()


# --- what was called ------------------------------------------------------------------------------


@dataclass(slots=True)
class Stage:
    """A client, a world of models of its own, and what of the SDK was called here.

    `files` is a folder that jobs may use.
    """

    client: SyncClient | AsyncClient
    files: Path
    called: set[str] = field(default_factory=set)
    world: World = field(init=False)

    def __post_init__(self) -> None:
        for operation in list_operations():
            group, name = operation.split(".")
            self._record(getattr(self.client.groups, group), name, operation)
        for name in list_methods(DigitalTwinsClient):
            self._record(self.client._client, name, name)
        self.world = World.named(self.name)
        self.client.create_models(self.world.models())
        self.called.clear()

    def _record(self, place: Any, name: str, called: str) -> None:
        method = getattr(place, name)

        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            self.called.add(called)
            return method(*args, **kwargs)

        setattr(place, name, call)

    def name(self, stem: str) -> str:
        """An id that nothing else has."""
        return stem + uuid.uuid4().hex[:12]

    def add_building(self) -> str:
        """The id of a new building."""
        twin = self.name("building")
        self.client.upsert_digital_twin(twin, self.world.building_twin())
        return twin

    def add_room(self) -> str:
        """The id of a new room."""
        twin = self.name("room")
        self.client.upsert_digital_twin(twin, self.world.room_twin())
        return twin

    def add_edge(self) -> tuple[str, str, str]:
        """A building, the relationship `has` of it, and the room that this leads to."""
        source, target = self.add_building(), self.add_room()
        body = {"$relationshipName": "has", "$targetId": target, "isAccessRestricted": True}
        self.client.upsert_relationship(source, "has", body)
        return source, "has", target

    def add_route(self) -> str:
        """The id of a new event route."""
        route = self.name("route")
        made = DigitalTwinsEventRoute(endpoint_name=ENDPOINT, filter="false")
        self.client.upsert_event_route(route, made)
        return route

    def add_import(self, twins: int) -> str:
        """The id of a new import of so many buildings."""
        job, source = self.name("job"), self.files / f"{uuid.uuid4().hex}.ndjson"
        lines: list[object] = [{"Section": "Header"}, {"fileVersion": "1.0.0"}]
        lines.append({"Section": "Twins"})
        lines += [{"$dtId": f"{job}-{at}"} | self.world.building_twin() for at in range(twins)]
        source.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        body = ImportJob(input_blob_uri=source.as_uri(), output_blob_uri=f"{source.as_uri()}.log")
        self.client.do("import_jobs", "add", job, body)
        return job

    def wait_for_import(self, job: str) -> Any:
        """The job once it has come to an end."""
        end = time.monotonic() + 120
        while (found := self.client.do("import_jobs", "get_by_id", job)).status not in FINAL:
            assert time.monotonic() < end, found
            time.sleep(0.02)
        return found


# --- the plays ------------------------------------------------------------------------------------

Play = Callable[[Stage], None]
PLAYS: Final[dict[str, Play]] = {}
"""By operation. Each ends well or raises."""


def _plays(operation: str) -> Callable[[Play], Play]:
    def add(play: Play) -> Play:
        PLAYS[operation] = play
        return play

    return add


def _replace(path: str, value: object) -> list[dict[str, object]]:
    return [{"op": "replace", "path": path, "value": value}]


@_plays("digital_twin_models.add")
def _(stage: Stage) -> None:
    models = World.named(stage.name).models()
    made = stage.client.create_models(models)
    assert [each.id for each in made] == [each["@id"] for each in models]


@_plays("digital_twin_models.list")
def _(stage: Stage) -> None:
    found = stage.client.list_models([stage.world.room])
    assert {each.id for each in found} == {stage.world.room, stage.world.climate}


@_plays("digital_twin_models.get_by_id")
def _(stage: Stage) -> None:
    model = next(each for each in stage.world.models() if each["@id"] == stage.world.room)
    assert stage.client.get_model(stage.world.room, include_model_definition=True).model == model


@_plays("digital_twin_models.update")
def _(stage: Stage) -> None:
    world = World.named(stage.name)
    stage.client.create_models(world.models())
    stage.client.decommission_model(world.building)
    assert stage.client.get_model(world.building).decommissioned is True


@_plays("digital_twin_models.delete")
def _(stage: Stage) -> None:
    world = World.named(stage.name)
    stage.client.create_models(world.models())
    stage.client.delete_model(world.building)
    with pytest.raises(ResourceNotFoundError):
        stage.client.get_model(world.building)


@_plays("query.query_twins")
def _(stage: Stage) -> None:
    twin = stage.add_building()
    query = f"SELECT * FROM DIGITALTWINS T WHERE T.$dtId = '{twin}'"
    assert stage.client.query_twins(query) == [stage.client.get_digital_twin(twin)]


@_plays("digital_twins.get_by_id")
def _(stage: Stage) -> None:
    assert stage.client.get_digital_twin(stage.add_building())["AverageTemperature"] == 68


@_plays("digital_twins.add")
def _(stage: Stage) -> None:
    twin = stage.name("twin")
    made = stage.client.upsert_digital_twin(twin, stage.world.building_twin())
    assert stage.client.get_digital_twin(twin) == made


@_plays("digital_twins.update")
def _(stage: Stage) -> None:
    twin = stage.add_building()
    stage.client.update_digital_twin(twin, _replace("/TemperatureUnit", "Kelvin"))
    assert stage.client.get_digital_twin(twin)["TemperatureUnit"] == "Kelvin"


@_plays("digital_twins.delete")
def _(stage: Stage) -> None:
    twin = stage.add_building()
    stage.client.delete_digital_twin(twin)
    with pytest.raises(ResourceNotFoundError):
        stage.client.get_digital_twin(twin)


@_plays("digital_twins.get_component")
def _(stage: Stage) -> None:
    assert stage.client.get_component(stage.add_room(), "Climate")["Setpoint"] == 21.5


@_plays("digital_twins.update_component")
def _(stage: Stage) -> None:
    twin = stage.add_room()
    stage.client.update_component(twin, "Climate", _replace("/Setpoint", 19))
    assert stage.client.get_digital_twin(twin)["Climate"]["Setpoint"] == 19


@_plays("digital_twins.get_relationship_by_id")
def _(stage: Stage) -> None:
    source, edge, target = stage.add_edge()
    assert stage.client.get_relationship(source, edge)["$targetId"] == target


@_plays("digital_twins.add_relationship")
def _(stage: Stage) -> None:
    source, target = stage.add_building(), stage.add_room()
    body = {"$relationshipName": "has", "$targetId": target}
    made = stage.client.upsert_relationship(source, "has", body)
    assert stage.client.get_relationship(source, "has") == made


@_plays("digital_twins.update_relationship")
def _(stage: Stage) -> None:
    source, edge, _target = stage.add_edge()
    stage.client.update_relationship(source, edge, _replace("/isAccessRestricted", False))
    assert stage.client.get_relationship(source, edge)["isAccessRestricted"] is False


@_plays("digital_twins.delete_relationship")
def _(stage: Stage) -> None:
    source, edge, _target = stage.add_edge()
    stage.client.delete_relationship(source, edge)
    with pytest.raises(ResourceNotFoundError):
        stage.client.get_relationship(source, edge)


@_plays("digital_twins.list_relationships")
def _(stage: Stage) -> None:
    source, edge, _target = stage.add_edge()
    found = stage.client.list_relationships(source)
    assert found == [stage.client.get_relationship(source, edge)]


@_plays("digital_twins.list_incoming_relationships")
def _(stage: Stage) -> None:
    source, edge, target = stage.add_edge()
    found = stage.client.list_incoming_relationships(target)
    assert [(each.source_id, each.relationship_id) for each in found] == [(source, edge)]


@_plays("digital_twins.send_telemetry")
def _(stage: Stage) -> None:
    stage.client.publish_telemetry(stage.add_room(), {"Humidity": 41.5})
    with pytest.raises(ResourceNotFoundError):
        stage.client.publish_telemetry(stage.name("nobody"), {"Humidity": 41.5})


@_plays("digital_twins.send_component_telemetry")
def _(stage: Stage) -> None:
    twin = stage.add_room()
    stage.client.publish_component_telemetry(twin, "Climate", {"Reading": 21.5})
    with pytest.raises(ResourceNotFoundError):
        stage.client.publish_component_telemetry(twin, "Nothing", {"Reading": 21.5})


@_plays("event_routes.list")
def _(stage: Stage) -> None:
    route = stage.add_route()
    assert route in [each.id for each in stage.client.list_event_routes()]


@_plays("event_routes.get_by_id")
def _(stage: Stage) -> None:
    route = stage.add_route()
    found = stage.client.get_event_route(route)
    assert (found.id, found.endpoint_name, found.filter) == (route, ENDPOINT, "false")


@_plays("event_routes.add")
def _(stage: Stage) -> None:
    route = stage.add_route()
    made = DigitalTwinsEventRoute(endpoint_name=ENDPOINT, filter="type = 'x'")
    stage.client.upsert_event_route(route, made)
    assert stage.client.get_event_route(route).filter == "type = 'x'"


@_plays("event_routes.delete")
def _(stage: Stage) -> None:
    route = stage.add_route()
    stage.client.delete_event_route(route)
    with pytest.raises(ResourceNotFoundError):
        stage.client.get_event_route(route)


@_plays("import_jobs.add")
def _(stage: Stage) -> None:
    job = stage.add_import(3)
    done = stage.wait_for_import(job)
    assert (done.status, done.error) == ("succeeded", None)
    assert stage.client.get_digital_twin(f"{job}-2")["AverageTemperature"] == 68


@_plays("import_jobs.list")
def _(stage: Stage) -> None:
    job = stage.add_import(1)
    assert job in [each.id for each in stage.client.do("import_jobs", "list")]
    stage.wait_for_import(job)


@_plays("import_jobs.get_by_id")
def _(stage: Stage) -> None:
    job = stage.add_import(1)
    assert stage.wait_for_import(job).id == job


@_plays("import_jobs.cancel")
def _(stage: Stage) -> None:
    job = stage.add_import(20_000)
    found = stage.client.do("import_jobs", "cancel", job)
    assert found.status in ("cancelling", "cancelled")
    assert stage.wait_for_import(job).status == "cancelled"


@_plays("import_jobs.delete")
def _(stage: Stage) -> None:
    job = stage.add_import(1)
    stage.wait_for_import(job)
    stage.client.do("import_jobs", "delete", job)
    with pytest.raises(ResourceNotFoundError):
        stage.client.do("import_jobs", "get_by_id", job)


def _delete_all(stage: Stage) -> Any:
    """NOTE: it empties the graph, so the models of this stage are made anew behind it."""
    done = stage.client.do("delete_jobs", "begin_add", polling_interval=0.05)
    stage.client.create_models(stage.world.models())
    return done


@_plays("delete_jobs.begin_add")
def _(stage: Stage) -> None:
    twin = stage.add_building()
    assert _delete_all(stage).status == "succeeded"
    with pytest.raises(ResourceNotFoundError):
        stage.client.get_digital_twin(twin)


@_plays("delete_jobs.list")
def _(stage: Stage) -> None:
    job = _delete_all(stage)
    assert job.id in [each.id for each in stage.client.do("delete_jobs", "list")]


@_plays("delete_jobs.get_by_id")
def _(stage: Stage) -> None:
    job = _delete_all(stage)
    assert stage.client.do("delete_jobs", "get_by_id", job.id).status == "succeeded"


# --- the page -------------------------------------------------------------------------------------

CALLED: Final = {
    "digital_twin_models.add": "create_models",
    "digital_twin_models.delete": "delete_model",
    "digital_twin_models.get_by_id": "get_model",
    "digital_twin_models.list": "list_models",
    "digital_twin_models.update": "decommission_model",
    "digital_twins.add": "upsert_digital_twin",
    "digital_twins.add_relationship": "upsert_relationship",
    "digital_twins.delete": "delete_digital_twin",
    "digital_twins.delete_relationship": "delete_relationship",
    "digital_twins.get_by_id": "get_digital_twin",
    "digital_twins.get_component": "get_component",
    "digital_twins.get_relationship_by_id": "get_relationship",
    "digital_twins.list_incoming_relationships": "list_incoming_relationships",
    "digital_twins.list_relationships": "list_relationships",
    "digital_twins.send_component_telemetry": "publish_component_telemetry",
    "digital_twins.send_telemetry": "publish_telemetry",
    "digital_twins.update": "update_digital_twin",
    "digital_twins.update_component": "update_component",
    "digital_twins.update_relationship": "update_relationship",
    "event_routes.add": "upsert_event_route",
    "event_routes.delete": "delete_event_route",
    "event_routes.get_by_id": "get_event_route",
    "event_routes.list": "list_event_routes",
    "query.query_twins": "query_twins",
}
"""The method of the client that calls an operation; the test holds it against what is called."""

_PAGE: Final = """\
# Operations of the vendor's SDK

This page is generated from the classes of `azure-digitaltwins-core` {version}; do not edit it.

Each test run calls {played} of its {count} operations on a running service over TLS, with the
sync and the async client. An operation of a later version fails the tests until they call it.
Operations without a method of `DigitalTwinsClient` are called on the generated client below it,
`client._client.<group>`.

If Node.js 20 or later with npm is installed, the tests also call all operations of the vendor's
SDK for JavaScript, 1.0.3 and 1.1.0. Both versions exchange payload and message id in
`publishComponentTelemetry`, and 1.0.3 also in `publishTelemetry`. This is an error of the SDK:
pass the two arguments in the other order.

The extension of the vendor's command line is in no package registry. The tests send the requests
of its commands on a graph in the form that its SDK gives them.

| operation | request | `DigitalTwinsClient` | sync | async |
| --- | --- | --- | --- | --- |
{rows}
"""


def render_operations_page() -> str:
    """Each operation with its request, the client's method, and whether it is played."""
    found, in_async = list_operations(), set(list_operations(aio_operations))
    methods = set(list_methods(DigitalTwinsClient)) & set(list_methods(AsyncDigitalTwinsClient))
    routes = {route.operation_id: f"{route.method} {route.path}" for route in ROUTES}
    rows = []
    for operation in found:
        method = CALLED.get(operation)
        played = "played" if operation in PLAYS else "no"
        rows.append(
            f"| `{operation}` | `{routes[build_operation_id(operation)]}` | "
            f"{f'`{method}`' if method in methods else '–'} | {played} | "
            f"{played if operation in in_async else 'no'} |"
        )
    played_ones = sum(operation in PLAYS for operation in found)
    return _PAGE.format(version=VERSION, count=len(found), played=played_ones, rows="\n".join(rows))


def build_operation_id(operation: str) -> str:
    """Its id in the vendor's OpenAPI document: of `query.query_twins` it is `Query_QueryTwins`."""
    group, name = operation.split(".")
    words = name.removeprefix("begin_")
    return "_".join("".join(map(str.capitalize, part.split("_"))) for part in (group, words))
