"""Pages of a scan give every row once and in order, whatever part of the twins is wanted."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.testing.contracts.base import put
from twinframe.testing.factories import build_twin_record
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.compiler.pages import is_selective, read_page
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.terms import Row
from twinframe_storage_rdf.vocabulary import BUCKETS, build_bucket


class Reader:
    """Answers the starts of `read_page` out of ids, and counts the places it went through."""

    def __init__(self, ids: list[str]) -> None:
        self.keys = sorted((build_bucket(one), one) for one in ids)
        self.places = 0

    def __call__(self, start: str, count: int) -> Iterator[Row]:
        rest = start
        values = re.match(r"VALUES \?p \{ ([\d ]*) \}", rest)
        first = re.search(r"FILTER\(\?p >= (\d+)\)", rest)
        after = re.search(r'FILTER\(\?p > (\d+) \|\| STR\(\?k\) > "(.*)"\)', rest)
        wanted = (
            set(map(int, values[1].split()))
            if values
            else range(int(first[1]) if first else 0, BUCKETS)
        )
        self.places += len(wanted)
        behind = (int(after[1]), after[2]) if after else (-1, "")
        found = [one for place, one in self.keys if place in wanted and (place, one) > behind]
        return iter([(one,) for one in found[:count]])


@pytest.mark.parametrize("twins", [0, 1, 50, 3_000, 40_000])
@pytest.mark.parametrize("part", [1.0, 0.3, 0.01, 0.0])
def test_each_row_comes_once_and_in_order(twins: int, part: float) -> None:
    dice = random.Random(twins)
    ids = [f"twin {n}" for n in range(twins) if dice.random() < part]
    reader = Reader(ids)
    seen: list[str] = []
    after = None
    for _ in range(6):
        page = [str(row[0]) for row in read_page(reader, "?p", "?k", after, 100, twins)]
        assert len(page) == min(100, len(ids) - len(seen))
        seen += page
        after = seen[-1] if seen else None
    assert seen == [one for _, one in reader.keys[: len(seen)]]


def test_a_page_of_many_twins_looks_at_few_of_them() -> None:
    reader = Reader([f"twin {n}" for n in range(40_000)])
    list(read_page(reader, "?p", "?k", None, 100, 40_000))
    assert reader.places < BUCKETS / 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MATCH (t) RETURN t", False),
        ("MATCH (t:Room) WHERE t.x > 1 RETURN t", False),
        ("MATCH (t {name: 'a'}) RETURN t", True),
        ("MATCH (t) WHERE t.x > 1 AND t.name = 'a' RETURN t", True),
        ("MATCH (t) WHERE t.name IN ['a', 'b'] RETURN t", True),
    ],
)
def test_an_equality_is_looked_up_and_not_scanned_for(text: str, expected: bool) -> None:
    assert is_selective(optimize(parse_query(text).query)) is expected


@pytest.mark.parametrize("condition", ["t.n >= 100", "t.n >= 100 AND t.kind = 'room'"])
def test_pages_of_a_store_are_its_scan_while_twins_come_and_go(condition: str) -> None:
    store = build_store(RdfSettings(directory=""), "default")
    store.open()
    put(store, *(build_twin_record(f"t{n}", n=n, kind="room") for n in range(2_000)))
    session = store.session()
    query = optimize(parse_query(f"MATCH (t) WHERE {condition} RETURN t.$dtId AS id").query)
    compiled = SparqlQueryEngine(store.names).compile(query, {})
    seen: list[str] = []
    after = None
    while page := list(compiled.run_json(session, {}, after=after, limit=150)):
        keys = [str(key) for _, key in page]
        assert keys == sorted(keys, key=lambda key: (build_bucket(key), key))
        assert not {*keys} & {*seen}
        seen += keys
        after = keys[-1]
        put(store, build_twin_record(f"new {len(seen)}", n=1, kind="room"))
        store.write([lambda transaction, gone=keys[0]: transaction.delete_twin(gone)])
    assert sorted(seen) == sorted(f"t{n}" for n in range(100, 2_000))
    store.close()
