"""Models: upload, lists, decommission, delete (wire facts §3.1-§3.5)."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    InvalidArgument,
    InvalidContinuationToken,
    JsonPatchInvalid,
    LimitExceeded,
    ModelAlreadyExists,
    ModelNotFound,
    ModelParsingFailed,
    ModelReferenced,
    ModelVersionNotSupported,
    PatchNotObjects,
    ValidationFailed,
)
from twinframe.graph import Graph
from twinframe.model.pages import PageRequest
from twinframe.settings import Settings
from twinframe.storage.base import GraphTransaction, WriteFunction
from twinframe.testing.factories import (
    BUILDING,
    ROOM,
    SENSOR,
    SPACE,
    THERMOSTAT,
    build_building_interfaces,
    build_interface,
    build_property,
)

A, B, C = (f"dtmi:com:example:{x};1" for x in "ABC")


def create(world: Any, *documents: Any) -> list[dict[str, Any]]:
    return [world.load(x) for x in world.do(world.graph.models.create_models(list(documents)))]


def ids(world: Any, **more: Any) -> list[str]:
    """Ids of all models, by upload."""
    page = world.do(world.graph.models.list_models(more.pop("of", ()), False, PageRequest(2000)))
    return [world.load(body)["id"] for body in page.items]


# --- upload --------------------------------------------------------------------------------------


def test_an_upload_answers_model_data_in_the_order_given(empty: Any) -> None:
    documents: Any = build_building_interfaces()
    answer = create(empty, *documents)
    assert [data["id"] for data in answer] == [document["@id"] for document in documents]
    assert answer[0] == {
        "id": SPACE,
        "description": {},
        "displayName": {"en": "Space"},
        "decommissioned": False,
        "uploadTime": "2024-01-31T12:00:01+00:00",  # when it was stored, not when it was parsed
    }


def test_texts_of_several_languages_stay(empty: Any) -> None:
    document = build_interface(A)
    document["displayName"] = {"de": "Gebäude", "en": "building"}
    document["description"] = "what it is"
    (answer,) = create(empty, document)
    assert answer["displayName"] == {"de": "Gebäude", "en": "building"}
    assert answer["description"] == {"en": "what it is"}


def test_a_definition_comes_back_as_it_was_sent(empty: Any) -> None:
    documents: Any = build_building_interfaces()
    create(empty, *documents)
    for document in documents:
        body = empty.do(empty.graph.models.read_model(document["@id"], True))
        assert orjson.dumps(empty.load(body)["model"]) == orjson.dumps(document)
        assert "model" not in empty.load(empty.do(empty.graph.models.read_model(document["@id"])))


def test_the_order_inside_an_upload_does_not_matter(empty: Any) -> None:
    create(empty, *reversed(build_building_interfaces()))
    empty.put("r", ROOM, name="x")


@pytest.mark.parametrize("documents", [[], {}, "x", None, 1])
def test_an_upload_is_a_list_with_something_in_it(empty: Any, documents: Any) -> None:
    with pytest.raises(InvalidArgument):
        empty.do(empty.graph.models.create_models(documents))


@pytest.mark.parametrize(
    "document",
    [
        {},
        1,
        "x",
        None,
        [],
        {"@id": A, "@type": "Interface"},
        {"@type": "Interface", "@context": "dtmi:dtdl:context;3"},
        {"@id": "no dtmi", "@type": "Interface", "@context": "dtmi:dtdl:context;3"},
        build_interface(A, extends=[C]),
        build_interface(A, [{"@type": "Component", "name": "c", "schema": C}]),
        build_interface(A, [build_property("p", "nothing")]),
        build_interface(A, extends=[A]),
    ],
)
def test_documents_that_break_the_language_refuse_the_whole_upload(
    empty: Any, document: Any
) -> None:
    with pytest.raises(ModelParsingFailed) as caught:
        create(empty, build_interface(B), document)
    assert caught.value.details
    assert ids(empty) == []


def test_an_unsupported_language_version_is_told_apart(empty: Any) -> None:
    document = build_interface(A)
    document["@context"] = "dtmi:dtdl:context;9"
    with pytest.raises(ModelVersionNotSupported):
        create(empty, document)


def test_an_id_twice_in_an_upload_is_refused(empty: Any) -> None:
    with pytest.raises(ModelParsingFailed):
        create(empty, build_interface(A), build_interface(A))
    assert ids(empty) == []


def test_a_relationships_target_need_not_exist(empty: Any) -> None:
    relationship: Any = {"@type": "Relationship", "name": "r", "target": C}
    create(empty, build_interface(A, [relationship]))


def test_a_reference_may_be_stored_already(empty: Any) -> None:
    create(empty, build_interface(A, [build_property("p", "integer")]))
    create(empty, build_interface(B, extends=[A]))
    assert empty.put("b", B, p=1)["p"] == 1


def test_a_taken_id_refuses_the_whole_upload_and_is_named(empty: Any) -> None:
    create(empty, build_interface(A))
    with pytest.raises(ModelAlreadyExists) as caught:
        create(empty, build_interface(B), build_interface(A))
    assert caught.value.model_ids == (A,)
    assert ids(empty) == [A]


def test_number_and_size_of_models_are_bounded(empty: Any) -> None:
    settings = Settings.model_validate({"Graph": {"MaxModelsPerRequest": 2, "MaxModelBytes": 500}})
    small = type(empty)(empty.store, settings)
    with pytest.raises(LimitExceeded, match="at most 2"):
        create(small, build_interface(A), build_interface(B), build_interface(C))
    large = build_interface(B)
    large["comment"] = "x" * 500
    with pytest.raises(LimitExceeded, match="position 1"):
        create(small, build_interface(A), large)
    assert ids(empty) == []


def test_an_upload_is_judged_again_when_models_changed_meanwhile(empty: Any) -> None:
    """Between parsing and writing another upload, or a deletion, may come."""
    create(empty, build_interface(A))

    class Racing(InlineRunner):
        async def write(self, work: WriteFunction[Any], *, alone: bool = False) -> Any:
            self.write = super().write  # type: ignore[method-assign]
            await empty.graph.models.delete_model(A)
            return await super().write(work, alone=alone)

    graph = Graph(Racing(empty.store), empty.settings)
    with pytest.raises(ModelParsingFailed):
        asyncio.run(graph.models.create_models([build_interface(B, extends=[A])]))
    assert ids(empty) == []


# --- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model_id", ["", "x", "dtmi:a;0", "dtmi:a:1;1"])
def test_a_malformed_id_is_refused_everywhere(world: Any, model_id: str) -> None:
    models = world.graph.models
    for call in (
        models.read_model(model_id),
        models.delete_model(model_id),
        models.decommission_model(model_id, []),
        models.list_models([model_id]),
    ):
        with pytest.raises(InvalidArgument, match="is not supported"):
            world.do(call)


def test_a_missing_model_is_not_found_everywhere(world: Any) -> None:
    models = world.graph.models
    change: Any = [{"op": "replace", "path": "/decommissioned", "value": True}]
    for call in (
        models.read_model(A),
        models.delete_model(A),
        models.decommission_model(A, change),
        models.decommission_model(A, []),
        models.list_models([SPACE, A]),
    ):
        with pytest.raises(ModelNotFound) as caught:
            world.do(call)
        assert caught.value.model_ids == (A,)


@pytest.mark.parametrize("size", [1, 2, 5, 6, 7, None])
@pytest.mark.parametrize("definition", [False, True])
def test_pages_list_the_models_by_upload(world: Any, size: int | None, definition: bool) -> None:
    found: list[dict[str, Any]] = []
    page = world.do(world.graph.models.list_models((), definition, PageRequest(size)))
    while True:
        found += [world.load(body) for body in page.items]
        if page.token is None:
            break
        assert len(page.items) == size
        following = PageRequest(None, page.token)
        page = world.do(world.graph.models.list_models((), definition, following))
    documents = build_building_interfaces()
    assert [data["id"] for data in found] == [document["@id"] for document in documents]
    assert [data.get("model") for data in found] == [
        document if definition else None for document in documents
    ]


def read_whole(world: Any, model_id: str) -> dict[str, Any]:
    return dict(world.load(world.do(world.graph.models.read_whole_model(model_id))))


def names(elements: Any) -> list[str]:
    return [element["name"] for element in elements]


def test_a_whole_model_has_what_it_inherits_beside_its_own(world: Any) -> None:
    documents = {document["@id"]: document for document in build_building_interfaces()}
    room, space = documents[ROOM], documents[SPACE]
    found = read_whole(world, ROOM)
    plain = world.load(world.do(world.graph.models.read_model(ROOM, True)))
    assert {**found, "model": plain["model"]}.items() >= plain.items()
    assert found["model"] == {**room, "contents": [*room["contents"], *space["contents"]]}
    assert found["bases"] == [SPACE]
    assert names(found["properties"]) == ["temperature", "readings", "name", "area", "tags"]
    assert names(found["relationships"]) == ["watchedBy", "relatedTo", "hasPart"]
    assert (names(found["components"]), names(found["telemetries"])) == (["thermostat"], ["motion"])
    assert found["commands"] == []
    assert found["properties"][3] in space["contents"]
    assert read_whole(world, SPACE)["model"] == space


def test_a_diamond_of_bases_with_schemas_is_merged_once(empty: Any) -> None:
    def build(name: str, *extends: str) -> Any:
        schema_id = f"dtmi:test:{name}:kind;1"
        enum = {"@id": schema_id, "@type": "Enum", "valueSchema": "integer",
                "enumValues": [{"name": "a", "enumValue": 1}]}  # fmt: skip
        made: Any = build_interface(f"dtmi:test:{name};1", extends=extends)
        own = {"@type": ["Property"], "name": name.lower(), "schema": schema_id}
        return {**made, "contents": own, "schemas": enum}

    top, left, right = build("T"), build("L", "dtmi:test:T;1"), build("R", "dtmi:test:T;1")
    bottom = build("B", "dtmi:test:L;1", "dtmi:test:R;1")
    bare = build_interface("dtmi:test:Bare;1", extends=["dtmi:test:B;1"])
    empty.do(empty.graph.models.create_models([top, left, right, bottom, bare]))
    found = read_whole(empty, "dtmi:test:Bare;1")
    assert names(found["model"]["contents"]) == names(found["properties"]) == ["b", "l", "r", "t"]
    assert [schema["@id"] for schema in found["model"]["schemas"]] == [
        f"dtmi:test:{name}:kind;1" for name in "BLRT"
    ]
    assert found["bases"] == [f"dtmi:test:{name};1" for name in "BLRT"]
    assert found["model"]["extends"] == ["dtmi:test:B;1"]


def test_a_whole_model_is_no_larger_than_a_page(empty: Any) -> None:
    settings = Settings.model_validate({"Graph": {"MaxPageBytes": 5000}})
    small = type(empty)(empty.store, settings)
    long = {**build_interface("dtmi:test:Base;1"), "comment": "x" * 400}
    models: list[Any] = [long]
    for number in range(9):
        extends = [models[-1]["@id"]]
        model = build_interface(f"dtmi:test:M{number};1", extends=extends)
        models.append({**model, "comment": "x" * 500})
    small.do(small.graph.models.create_models(models))
    assert len(read_whole(small, "dtmi:test:M3;1")["bases"]) == 4
    with pytest.raises(LimitExceeded, match="Graph__MaxPageBytes"):
        read_whole(small, "dtmi:test:M8;1")


def test_a_whole_model_that_is_not_there_is_not_found(world: Any) -> None:
    with pytest.raises(ModelNotFound):
        read_whole(world, "dtmi:test:No;1")
    with pytest.raises(InvalidArgument):
        read_whole(world, "No")


def test_dependencies_are_bases_and_components_transitively(world: Any) -> None:
    assert ids(world, of=[ROOM]) == [SPACE, ROOM, THERMOSTAT]
    assert ids(world, of=[BUILDING]) == [SPACE, BUILDING]
    assert ids(world, of=[SENSOR, BUILDING, SENSOR]) == [SPACE, BUILDING, SENSOR]
    assert ids(world, of=[SPACE]) == [SPACE]


def test_pages_of_dependencies_go_on_and_are_bound_to_them(world: Any) -> None:
    models = world.graph.models
    first = world.do(models.list_models([ROOM], False, PageRequest(2)))
    second = world.do(models.list_models([ROOM], False, PageRequest(None, first.token)))
    assert [world.load(x)["id"] for x in (*first.items, *second.items)] == [SPACE, ROOM, THERMOSTAT]
    with pytest.raises(InvalidContinuationToken):
        world.do(models.list_models([BUILDING], False, PageRequest(None, first.token)))


def test_an_empty_graph_lists_nothing(empty: Any) -> None:
    page = empty.do(empty.graph.models.list_models())
    assert (page.items, page.token) == ((), None)


# --- decommission and delete ---------------------------------------------------------------------


def test_decommissioning_is_seen_and_can_be_repeated(world: Any) -> None:
    change: Any = [{"op": "replace", "path": "/decommissioned", "value": True}]
    for _ in range(2):
        world.do(world.graph.models.decommission_model(SENSOR, change))
        assert world.load(world.do(world.graph.models.read_model(SENSOR)))["decommissioned"] is True
    assert world.load(world.do(world.graph.models.read_model(ROOM)))["decommissioned"] is False


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/decommissioned", "value": False},
        {"op": "replace", "path": "/decommissioned", "value": "true"},
        {"op": "replace", "path": "/decommissioned", "value": 1},
        {"op": "add", "path": "/decommissioned", "value": True},
        {"op": "remove", "path": "/decommissioned"},
        {"op": "replace", "path": "/displayName", "value": {}},
        {"op": "replace", "path": "/decommissioned/x", "value": True},
        {},
    ],
)
def test_any_other_patch_of_a_model_is_invalid(world: Any, operation: Any) -> None:
    with pytest.raises(JsonPatchInvalid):
        world.do(world.graph.models.decommission_model(SENSOR, [operation]))
    with pytest.raises(PatchNotObjects):
        world.do(world.graph.models.decommission_model(SENSOR, ["x"]))
    assert world.load(world.do(world.graph.models.read_model(SENSOR)))["decommissioned"] is False


@pytest.mark.parametrize(("model_id", "referrers"), [(SPACE, 3), (THERMOSTAT, 1)])
def test_a_model_others_rest_on_is_not_deleted(world: Any, model_id: str, referrers: int) -> None:
    with pytest.raises(ModelReferenced, match="is currently being referenced by") as caught:
        world.do(world.graph.models.delete_model(model_id))
    assert len(caught.value.referrers) == referrers
    assert model_id in ids(world)


def test_a_model_named_only_as_a_target_or_by_twins_is_deleted(world: Any) -> None:
    world.put("s", SENSOR)
    world.do(world.graph.models.delete_model(SENSOR))
    assert SENSOR not in ids(world)
    page = world.do(world.graph.queries.run("MATCH (s:Sensor) RETURN count(*) AS n"))
    assert page.rows == (b'{"n":1}',)


def test_all_models_are_deleted_at_once_and_twins_stay(world: Any) -> None:
    world.put("r", ROOM)
    world.do(world.graph.models.delete_all_models())
    assert ids(world) == []
    assert world.read("r")
    world.do(world.graph.models.delete_all_models())


# --- the cache of parsed models ------------------------------------------------------------------


def test_two_workers_follow_each_others_models(world: Any) -> None:
    """Each has its own cache; the schema version tells them."""
    other = type(world)(world.store, world.settings)
    world.put("s1", SENSOR)
    other.put("s2", SENSOR)
    world.do(world.graph.models.delete_model(SENSOR))
    with pytest.raises(ValidationFailed):
        other.put("s3", SENSOR)
    create(other, build_interface(SENSOR, [build_property("fresh", "integer")]))
    assert world.put("s4", SENSOR, fresh=1)["fresh"] == 1
    with pytest.raises(ValidationFailed):
        world.put("s5", SENSOR, serial="1")


def test_models_of_a_work_that_was_taken_back_are_not_remembered(world: Any) -> None:
    """When a commit fails, twins may have been judged by models that never came to be."""
    works: list[WriteFunction[Any]] = []

    class Collecting(InlineRunner):
        async def write(self, work: WriteFunction[Any], *, alone: bool = False) -> Any:
            works.append(work)

    def write_both(transaction: GraphTransaction) -> None:
        for work in works:
            work(transaction)
        raise OSError("no space left")

    graph = Graph(Collecting(world.store), world.settings)
    document: Any = build_interface(A, [build_property("p", "integer")])
    twin: Any = {"$metadata": {"$model": A}, "p": 1}
    asyncio.run(graph.models.create_models([document]))
    asyncio.run(graph.twins.put_twin("a", twin))
    (outcome,) = world.store.write([write_both])
    assert isinstance(outcome.error, OSError)

    create(world, build_interface(A, [build_property("p", "string")]))
    works.clear()
    asyncio.run(graph.twins.put_twin("a", twin))
    (outcome,) = world.store.write(works)
    assert isinstance(outcome.error, ValidationFailed)


def test_a_model_is_read_and_parsed_once(world: Any) -> None:
    reads: list[str] = []

    class Counting(InlineRunner):
        async def write(self, work: WriteFunction[Any], *, alone: bool = False) -> Any:
            def counted(transaction: Any) -> Any:
                read = transaction.read_model

                def read_model(model_id: str) -> Any:
                    reads.append(model_id)
                    return read(model_id)

                transaction.read_model = read_model
                try:
                    return work(transaction)
                finally:
                    del transaction.read_model

            return await super().write(counted)

    graph = Graph(Counting(world.store), world.settings)
    document: Any = {"$metadata": {"$model": ROOM}, "thermostat": {}}
    asyncio.run(graph.twins.put_twin("r1", document))
    assert set(reads) == {ROOM, SPACE, THERMOSTAT}
    reads.clear()
    asyncio.run(graph.twins.put_twin("r2", document))
    asyncio.run(graph.twins.patch_twin("r2", [{"op": "add", "path": "/name", "value": "x"}]))
    assert reads == []
