"""Writes that are observed: what was before and after, and rehearsals that leave nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.graph.conftest import find_engine
from twinframe.errors import LimitExceeded, PreconditionFailed, TwinNotFound
from twinframe.graph import Graph
from twinframe.graph.twins import removal
from twinframe.graph.twins.observation import WriteCases
from twinframe.model.etags import parse_condition
from twinframe.settings import Settings
from twinframe.storage.base import GraphSession, StoredDocument
from twinframe.storage.runner import StoreRunner
from twinframe.testing.factories import ROOM, SENSOR, build_twin_document


def look_at(twin_id: str) -> Any:
    def look(session: GraphSession) -> StoredDocument | None:
        return session.read_twin(twin_id)

    return look


def put(twin_id: str, **members: Any) -> Any:
    async def act(cases: WriteCases) -> StoredDocument:
        return await cases.twins.put_twin(twin_id, build_twin_document(ROOM, **members))

    return act


def test_a_kept_write_is_seen_before_and_after(world: Any) -> None:
    first = world.do(world.graph.observation.run(look_at("a"), put("a", name="x"), keep=True))
    assert first.before is None
    assert first.after == first.result
    second = world.do(world.graph.observation.run(look_at("a"), put("a", name="y"), keep=True))
    assert second.before == first.after
    assert world.read("a")["name"] == "y"


def test_a_rehearsed_write_is_seen_and_gone(world: Any) -> None:
    seen = world.do(world.graph.observation.run(look_at("a"), put("a", name="x"), keep=False))
    assert b'"name":"x"' in seen.after.body
    with pytest.raises(TwinNotFound):
        world.read("a")


def test_an_error_of_the_use_case_is_that_of_its_rehearsal(world: Any) -> None:
    world.put("a")

    async def act(cases: WriteCases) -> None:
        await cases.twins.delete_twin("a", parse_condition('W/"other"'))

    for keep in (True, False):
        with pytest.raises(PreconditionFailed):
            world.do(world.graph.observation.run(look_at("a"), act, keep=keep))
    assert world.read("a")


def test_a_rehearsal_does_not_disturb_the_writes_beside_it(world: Any) -> None:
    """In one batch with writes that are kept, as the writer of a service makes them."""

    async def run() -> None:
        runner = StoreRunner(world.store, Settings().storage)
        graph = Graph(runner, Settings(), engine=find_engine(world.store))
        try:
            await asyncio.gather(
                *(
                    graph.observation.run(look_at(f"r{n}"), put(f"r{n}", name="x"), keep=n % 2 == 0)
                    for n in range(40)
                )
            )
        finally:
            await runner.close()

    asyncio.run(run())
    page = world.do(world.graph.queries.run("MATCH (t:Room) RETURN t.`$dtId` AS id"))
    assert sorted(world.load(row)["id"] for row in page.rows) == sorted(
        f"r{n}" for n in range(0, 40, 2)
    )


def test_a_rehearsed_upload_of_models_is_forgotten(world: Any) -> None:
    interface = {"@id": "dtmi:x:Y;1", "@type": "Interface", "@context": "dtmi:dtdl:context;3"}

    async def act(cases: WriteCases) -> list[bytes]:
        return await cases.models.create_models([{**interface}])

    def look(session: GraphSession) -> bool:
        return session.read_model("dtmi:x:Y;1") is not None

    for _ in range(2):
        seen = world.do(world.graph.observation.run(look, act, keep=False))
        assert (seen.before, seen.after) == (False, True)
    kept = world.do(world.graph.observation.run(look, act, keep=True))
    assert (kept.before, kept.after) == (False, True)


def test_a_twin_is_removed_with_its_relationships_and_no_others(world: Any) -> None:
    for twin_id in ("a", "b", "c"):
        world.put(twin_id)
    world.put("s", SENSOR)
    world.relate("a", "1", "b")
    world.relate("b", "1", "c")
    world.relate("b", "2", "s", "watchedBy")
    world.relate("c", "1", "a")

    async def act(cases: WriteCases) -> int:
        return await cases.removal.remove_twin("b")

    assert world.do(world.graph.observation.run(look_at("b"), act, keep=True)).result == 3
    page = world.do(world.graph.queries.run("MATCH (a)-[r]->(b) RETURN a.`$dtId` AS id"))
    assert [world.load(row)["id"] for row in page.rows] == ["c"]
    with pytest.raises(TwinNotFound):
        world.do(world.graph.observation.run(look_at("b"), act, keep=True))


def test_a_removal_that_is_refused_names_its_twin(world: Any) -> None:
    stored = world.put("a")
    refused = parse_condition(None, stored["$etag"])

    async def act(cases: WriteCases) -> int:
        return await cases.removal.remove_twin("a", refused)

    with pytest.raises(PreconditionFailed, match="the twin a was found"):
        world.do(world.graph.observation.run(look_at("a"), act, keep=True))
    assert world.read("a") == stored


def test_a_removal_takes_only_so_many_relationships_along(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "MOST_RELATIONSHIPS", 2)
    for twin_id in ("a", "b", "c", "d"):
        world.put(twin_id)
    for target in ("b", "c", "d"):
        world.relate("a", target, target)

    async def act(cases: WriteCases) -> int:
        return await cases.removal.remove_twin("a")

    with pytest.raises(LimitExceeded, match="more than 2"):
        world.do(world.graph.observation.run(look_at("a"), act, keep=True))
    assert world.read("a")
