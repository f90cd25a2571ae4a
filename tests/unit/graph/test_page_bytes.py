"""A page has a bound in bytes: what does not fit comes on the next one, in order, once each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest

from tests.unit.graph.conftest import World
from twinframe.graph.context.paging import gather
from twinframe.model.pages import Page, PageRequest
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.testing.factories import ROOM, SENSOR, build_building_interfaces

LARGE = 3000
MOST = 10_000
TEXT = "x" * LARGE


@pytest.fixture
def small_pages(store: GraphStore) -> World:
    """A graph whose pages have at most 10,000 bytes, with 20 twins of 3,000 and their models."""
    world = World(store, Settings.model_validate({"graph": {"max_page_bytes": MOST}}))
    world.do(world.graph.models.create_models(cast("Any", build_building_interfaces())))
    for number in range(20):
        world.put(f"s{number:02}", SENSOR, serial=f"{number:02}{TEXT}")
    return world


def read_all(
    world: World, read: Callable[[PageRequest], Awaitable[Page[Any]]], size: int
) -> list[Sequence[Any]]:
    """The items of all pages."""
    pages, token = [], None
    while True:
        page = world.do(cast("Any", read(PageRequest(size, token))))
        pages.append(page.items)
        if page.token is None:
            return pages
        token = page.token


def run_all(world: World, text: str, size: int) -> list[Sequence[bytes]]:
    pages, token = [], None
    while True:
        page = world.do(world.graph.queries.run(text, {}, token, size))
        pages.append(page.rows)
        if page.continuation_token is None:
            return pages
        token = page.continuation_token


@pytest.mark.parametrize("size", [2, 3, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "MATCH (s:Sensor) RETURN s.serial AS serial",
        "SELECT serial FROM DIGITALTWINS",
        "MATCH (s:Sensor) RETURN s.serial AS serial ORDER BY serial",
        "MATCH (s:Sensor) WITH s.serial AS serial RETURN DISTINCT serial",
    ],
)
def test_rows_of_a_query_go_on_behind_the_last_that_fitted(
    small_pages: World, text: str, size: int
) -> None:
    pages = run_all(small_pages, text, size)
    rows = [small_pages.load(row)["serial"] for page in pages for row in page]
    assert sorted(rows) == [f"{number:02}{TEXT}" for number in range(20)]
    assert {len(page) for page in pages[:-1]} == {min(size, 3)}


def test_a_row_larger_than_a_page_comes_alone(small_pages: World) -> None:
    small_pages.put("huge", SENSOR, serial="y" * 30_000)
    for text in (
        "MATCH (s:Sensor) RETURN s.serial AS serial",
        "MATCH (s:Sensor) RETURN s.serial AS serial ORDER BY serial DESC",
    ):
        pages = run_all(small_pages, text, 100)
        assert sum(map(len, pages)) == 21
        (own,) = [page for page in pages if any(len(row) > 30_000 for row in page)]
        assert len(own) == 1 or sum(map(len, own[:-1])) <= MOST


def test_models_with_their_definitions_go_on_behind_the_last_that_fitted(
    small_pages: World,
) -> None:
    models = small_pages.graph.models
    documents = [
        {
            "@context": "dtmi:dtdl:context;3",
            "@id": f"dtmi:com:example:Large{number};1",
            "@type": "Interface",
            "contents": [
                {"@type": "Property", "name": f"p{at}", "schema": "string", "comment": "c" * 400}
                for at in range(8)
            ],
        }
        for number in range(10)
    ]
    small_pages.do(models.create_models(cast("Any", documents)))
    pages = read_all(
        small_pages, lambda page: models.list_models((), include_definition=True, page=page), 1000
    )
    ids = [small_pages.load(item)["id"] for page in pages for item in page]
    assert len(ids) == len(set(ids))
    assert ids[-10:] == [document["@id"] for document in documents]
    assert max(sum(map(len, page)) for page in pages) <= MOST
    plain = read_all(small_pages, lambda page: models.list_models((), page=page), 1000)
    assert len(plain) < len(pages)


def test_dependencies_of_models_are_paged_by_bytes_too(small_pages: World) -> None:
    models = small_pages.graph.models
    whole = read_all(
        small_pages, lambda page: models.list_models((ROOM,), include_definition=True, page=page), 1
    )
    by_bytes = read_all(
        small_pages,
        lambda page: models.list_models((ROOM,), include_definition=True, page=page),
        1000,
    )
    assert [item for page in whole for item in page] == [x for page in by_bytes for x in page]


def test_relationships_go_on_behind_the_last_that_fitted(small_pages: World) -> None:
    small_pages.put("hub", ROOM)
    for number in range(60):
        small_pages.relate("hub", f"r{number:02}" + "x" * 100, "s00")
    relationships = small_pages.graph.relationships
    pages = read_all(
        small_pages, lambda page: relationships.list_relationships("hub", None, page), 1000
    )
    found = [small_pages.load(item)["$relationshipId"][:3] for page in pages for item in page]
    assert found == [f"r{number:02}" for number in range(60)]
    assert len(pages) > 1
    assert max(sum(map(len, page)) for page in pages) <= MOST


def test_no_more_is_read_than_it_takes_to_fill_a_page() -> None:
    asked: list[int] = []

    def fetch(after: int | None, limit: int) -> list[tuple[int, bytes]]:
        asked.append(limit)
        start = (after or 0) + 1
        return [(number, b"x" * 1000) for number in range(start, start + limit)]

    found = gather(fetch, None, 2001, 5000, len)
    assert len(found) == sum(asked) == 2 + 8
    asked.clear()
    found = gather(fetch, 7, 2001, 50_000, len)
    assert [key for key, _ in found] == list(range(8, 8 + sum(asked)))
    assert len(found) <= 2 + 8 + 32 + 128
