"""Any finite JSON number is a double, however it is spelt, and comes back as that double."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.storages import choose
from tests.unit.graph.conftest import World, build_postgres, build_rdf, build_sqlite
from tests.unit.graph.transfer.test_importing import File, export, run
from twinframe.errors import InvalidArgument, ValidationFailed
from twinframe.model.json import JsonLimits, parse_json
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import build_interface, build_property

METER = "dtmi:com:example:Meter;1"
PART = "dtmi:com:example:Part;1"
MODELS: list[Any] = [
    build_interface(PART, [build_property("d", "double")]),
    build_interface(
        METER,
        [
            *(build_property(name, schema) for name, schema in (
                ("d", "double"), ("f", "float"), ("i", "integer"), ("l", "long"),
            )),
            build_property("list", {"@type": "Array", "elementSchema": "double"}),
            build_property("map", {
                "@type": "Map",
                "mapKey": {"name": "key", "schema": "string"},
                "mapValue": {"name": "value", "schema": "double"},
            }),
            build_property(
                "object", {"@type": "Object", "fields": [{"name": "d", "schema": "double"}]}
            ),
            {"@type": "Component", "name": "part", "schema": PART},
            {
                "@type": "Relationship",
                "name": "feeds",
                "properties": [build_property("d", "double")],
            },
        ],
    ),
]  # fmt: skip
FLOAT_MOST = struct.unpack("f", b"\xff\xff\x7f\x7f")[0]


def spell(value: float) -> list[str]:
    """The spellings of a double that programs use: shortest, all its digits, with an exponent."""
    return [repr(value), format(Decimal(value), "f"), f"{value:.17e}", f"{Decimal(value):E}"]


DOUBLES = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(10**40), 10**40).map(float)
    | st.floats(1e17, 1e21)
)
SPELT = DOUBLES.flatmap(lambda x: st.tuples(st.just(x), st.sampled_from(spell(x))))


@pytest.fixture(params=choose("memory", "sqlite", "rdflib"), scope="module")
def meters(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """A graph with the models of these tests, one for many examples."""
    place = tmp_path_factory.mktemp("numbers")
    store = build_store(request.param, place)
    store.open()
    world = World(store, Settings())
    world.do(world.graph.models.create_models(MODELS))
    yield world
    assert list(store.verify()) == []
    store.close()


def build_store(kind: str, place: Path) -> GraphStore:
    if kind == "memory":
        return MemoryStore()
    if kind == "postgres":
        return build_postgres(place)
    return build_sqlite(place) if kind == "sqlite" else build_rdf(kind, None)


def read(text: str) -> Any:
    return parse_json(text.encode(), JsonLimits())


def meter(number: str) -> str:
    members = f'"d":{number},"list":[{number}],"map":{{"k":{number}}},"object":{{"d":{number}}}'
    return f'{{"$metadata":{{"$model":"{METER}"}},{members},"part":{{"d":{number}}}}}'


def query(world: World, text: str, **parameters: Any) -> Any:
    page = world.do(world.graph.queries.run(text, parameters))
    return [orjson.loads(row) for row in page.rows]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(SPELT)
@example((1e19, "10000000000000000000"))
@example((-1e19, "-10000000000000000000"))
@example((1.5e300, "15" + "0" * 299))
@example((2.0**63, "9223372036854775808"))
def test_a_double_is_kept_and_found_however_it_is_spelt(
    meters: World, spelt: tuple[float, str]
) -> None:
    value, number = spelt
    graph = meters.graph
    stored = meters.load(meters.do(graph.twins.put_twin("m", read(meter(number)))).body)
    meters.do(graph.twins.patch_twin("m", read(f'[{{"op":"add","path":"/d","value":{number}}}]')))
    for twin in (stored, meters.read("m")):
        found = [twin["d"], *twin["list"], twin["map"]["k"], twin["object"]["d"], twin["part"]["d"]]
        assert found == [value] * 5
    edge = read(f'{{"$relationshipName":"feeds","$targetId":"n","d":{number}}}')
    meters.do(graph.twins.put_twin("n", read(meter("0"))))
    meters.do(graph.relationships.put_relationship("m", "e", edge))
    kept = meters.do(graph.relationships.read_relationship("m", "e"))
    assert orjson.loads(kept.body)["d"] == value

    assert query(meters, "MATCH (m {`$dtId`: 'm'}) WHERE m.d = $p RETURN m.d AS d", p=read(number))
    (row,) = query(meters, "MATCH (m {`$dtId`: 'm'}) RETURN m.d AS d, $p AS p", p=read(number))
    assert (row["d"], row["p"]) == (value, value)
    text = f"SELECT T.d FROM DIGITALTWINS T WHERE T.$dtId = 'm' AND T.d = {number}"
    if len(text) < 1000:
        assert query(meters, text) == [{"d": value}]


@given(SPELT)
def test_a_double_survives_a_file(spelt: tuple[float, str]) -> None:
    value, number = spelt
    worlds = []
    for _ in range(2):
        store = MemoryStore()
        store.open()
        worlds.append(World(store, Settings()))
    twin = f'{{"$dtId":"m",{meter(number)[1:]}'.encode()
    _, findings = run(worlds[0], File().models(*MODELS).section("Twins", twin).render())
    assert findings == []
    _, findings = run(worlds[1], export(worlds[0].store))
    assert findings == []
    assert worlds[1].read("m")["d"] == value


@pytest.mark.parametrize("name", ["i", "l"])
@pytest.mark.parametrize(
    "number", ["9223372036854775808", "-9223372036854775809", "1e3", "1.0", "10000000000000000000"]
)
def test_an_integer_stays_exact_or_is_refused(meters: World, name: str, number: str) -> None:
    with pytest.raises(ValidationFailed) as caught:
        meters.do(meters.graph.twins.put_twin("i", read(build_text(name, number))))
    assert name in caught.value.details[0].message


def test_the_largest_integers_are_exact(meters: World) -> None:
    for number in (2**63 - 1, -(2**63), 2**53 + 1):
        meters.do(meters.graph.twins.put_twin("i", read(build_text("l", str(number)))))
        assert meters.read("i")["l"] == number
        text = f"SELECT T.l FROM DIGITALTWINS T WHERE T.$dtId = 'i' AND T.l = {number}"
        assert query(meters, text) == [{"l": number}]


def test_a_float_ends_where_single_precision_ends(meters: World) -> None:
    for number in (str(int(FLOAT_MOST)), repr(FLOAT_MOST)):
        meters.do(meters.graph.twins.put_twin("f", read(build_text("f", number))))
        assert meters.read("f")["f"] == FLOAT_MOST
    for number in ("1e39", "1" + "0" * 39):
        with pytest.raises(ValidationFailed):
            meters.do(meters.graph.twins.put_twin("f", read(build_text("f", number))))


def test_what_no_double_holds_is_refused_by_name() -> None:
    for number in ("1e309", "-1e309", "1" + "0" * 309, f"-{'9' * 400}"):
        with pytest.raises(InvalidArgument, match="too large for a double"):
            read(f"[{number}]")


def test_a_bulk_write_takes_them_too(meters: World) -> None:
    twins = read(f'[{{"$dtId":"b",{meter("1" + "0" * 19)[1:]}]')
    (result,) = meters.do(meters.graph.bulk.put_twins(twins))
    assert result.error is None
    assert meters.read("b")["d"] == 1e19


def build_text(name: str, number: str) -> str:
    return f'{{"$metadata":{{"$model":"{METER}"}},"{name}":{number},"part":{{}}}}'
