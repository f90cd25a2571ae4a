"""Queries through the whole pipeline: rows, pages, tokens, limits (wire facts §9.1)."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    InvalidArgument,
    InvalidContinuationToken,
    LimitExceeded,
    QueryInvalid,
    QueryTimeout,
)
from twinframe.graph import Graph
from twinframe.graph.queries.spool import SpoolWriter
from twinframe.model.values import Value
from twinframe.query.algebra import Query
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow, QueryEngine
from twinframe.settings import Settings
from twinframe.storage.base import GraphSession
from twinframe.testing.factories import FLOOR, SENSOR, build_interface

ALL = "MATCH (t:Sensor) RETURN t.serial AS serial"
ORDERED = "MATCH (t:Sensor) RETURN t.serial AS serial ORDER BY serial DESC"


@pytest.fixture
def sensors(world: Any) -> Any:
    """Sensors s00 to s24 with their numbers, and a floor."""
    for n in range(25):
        world.put(f"s{n:02}", SENSOR, serial=f"{n:02}")
    world.put("f", FLOOR, level=3)
    return world


def walk(world: Any, text: str, size: int, between: Callable[[int], None] | None = None) -> Any:
    """The serials of all pages."""
    found: list[str] = []
    page = world.do(world.graph.queries.run(text, None, None, size))
    number = 0
    while True:
        rows = [orjson.loads(row)["serial"] for row in page.rows]
        found += rows
        if page.continuation_token is None:
            return found
        assert len(rows) == size
        number += 1
        if between:
            between(number)
        page = world.do(world.graph.queries.run(None, None, page.continuation_token))


def test_rows_are_json_objects_by_column(sensors: Any) -> None:
    page = sensors.do(sensors.graph.queries.run("MATCH (f:Floor) RETURN f.level AS l, 'x' AS x"))
    assert page.rows == (b'{"l":3,"x":"x"}',)
    assert page.continuation_token is None


def test_a_node_is_its_document(sensors: Any) -> None:
    page = sensors.do(sensors.graph.queries.run("MATCH (f:Floor) RETURN f"))
    assert orjson.loads(page.rows[0])["f"] == sensors.read("f")


@pytest.mark.parametrize("text", [ALL, ORDERED])
@pytest.mark.parametrize("size", [1, 7, 24, 25, 26])
def test_pages_hold_each_row_once(sensors: Any, text: str, size: int) -> None:
    found = walk(sensors, text, size)
    expected = [f"{n:02}" for n in range(25)]
    assert sorted(found) == expected
    if text == ORDERED:
        assert found == expected[::-1]


def test_the_last_page_has_no_token_and_is_not_empty(sensors: Any) -> None:
    page = sensors.do(sensors.graph.queries.run(ALL, None, None, 25))
    assert (len(page.rows), page.continuation_token) == (25, None)
    none = sensors.do(sensors.graph.queries.run("MATCH (t:Nothing) RETURN t"))
    assert (none.rows, none.continuation_token) == ((), None)


def test_parameters_are_values_and_travel_in_the_token(sensors: Any) -> None:
    text = "MATCH (t:Sensor) WHERE t.serial IN $serials RETURN t.serial AS serial ORDER BY serial"
    parameters = {"serials": ["03", "05", "' OR 1=1 --"]}
    run = sensors.graph.queries.run
    first = sensors.do(run(text, parameters, None, 1))
    assert first.rows == (b'{"serial":"03"}',)
    repeats: Any = ((None, None), (None, {}), (text, None), (text, parameters))
    for again in repeats:
        second = sensors.do(run(*again, first.continuation_token))
        assert (second.rows, second.continuation_token) == ((b'{"serial":"05"}',), None)


def test_a_token_belongs_to_its_query(sensors: Any) -> None:
    run = sensors.graph.queries.run
    token = sensors.do(run(ALL, {"x": 1}, None, 1)).continuation_token
    for text, parameters in ((ORDERED, None), (ALL + " ", None), (None, {"x": 2}), (ALL, {"y": 1})):
        with pytest.raises(InvalidContinuationToken):
            sensors.do(run(text, parameters, token))
    for broken in ("", "x", token[:-1], token.swapcase()):
        with pytest.raises(InvalidContinuationToken):
            sensors.do(run(None, None, broken))


def test_a_token_expires_with_its_lifetime(sensors: Any) -> None:
    settings = Settings.model_validate({"Graph": {"TokenLifetime": 5}})
    short = type(sensors)(sensors.store, settings)
    run = short.graph.queries.run
    token = short.do(run(ALL, None, None, 1)).continuation_token
    assert short.do(run(None, None, token)).rows
    for _ in range(10):
        short.read_clock()
    with pytest.raises(InvalidContinuationToken, match="expired"):
        short.do(run(None, None, token))


def test_a_key_of_the_installation_signs_tokens_of_one_graph_only(sensors: Any) -> None:
    settings = Settings.model_validate({"Secrets": {"TokenKey": "k" * 32}})
    keyed = type(sensors)(sensors.store, settings)
    token = keyed.do(keyed.graph.queries.run(ALL, None, None, 1)).continuation_token
    other = type(sensors)(sensors.store, settings)
    assert other.do(other.graph.queries.run(None, None, token)).rows
    with pytest.raises(InvalidContinuationToken):
        sensors.do(sensors.graph.queries.run(None, None, token))


def test_a_query_needs_a_text_or_a_token(sensors: Any) -> None:
    with pytest.raises(InvalidArgument):
        sensors.do(sensors.graph.queries.run(None))


@pytest.mark.parametrize("text", ["", "MATCH", "MATCH (t) RETURN", "RETURN x", "DELETE t", "\x00"])
def test_a_text_that_is_no_query_is_refused(sensors: Any, text: str) -> None:
    for _ in range(2):  # a refusal is not kept as a plan
        with pytest.raises(QueryInvalid):
            sensors.do(sensors.graph.queries.run(text))


def test_a_missing_parameter_is_refused(sensors: Any) -> None:
    with pytest.raises(QueryInvalid, match="serial"):
        sensors.do(sensors.graph.queries.run("MATCH (t) WHERE t.serial = $serial RETURN t"))


def test_limits_come_from_the_settings(sensors: Any) -> None:
    def run(text: str, **settings: Any) -> Any:
        world = type(sensors)(sensors.store, Settings.model_validate({"Query": settings}))
        return world.do(world.graph.queries.run(text, None, None, 1_000_000))

    assert len(run(ALL, PageSize=3, MaxPageSize=10).rows) == 10
    with pytest.raises(LimitExceeded):
        run(f"RETURN '{'x' * 200}' AS x", MaxTextBytes=100)
    with pytest.raises(LimitExceeded):
        run("MATCH (a:Sensor), (b:Sensor) RETURN collect(nullIf(a.serial, b)) AS x", MaxRows=100)
    with pytest.raises(QueryTimeout):
        run("MATCH (a), (b), (c), (d), (e) RETURN count(*) AS n", Timeout=0.05)


def test_the_usual_page_size_is_a_setting(sensors: Any) -> None:
    world = type(sensors)(sensors.store, Settings.model_validate({"Query": {"PageSize": 4}}))
    page = world.do(world.graph.queries.run(ALL))
    assert len(page.rows) == 4
    assert len(world.do(world.graph.queries.run(None, None, page.continuation_token, 6)).rows) == 6
    for size in (0, -1):
        with pytest.raises(InvalidArgument):
            world.do(world.graph.queries.run(ALL, None, None, size))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("UNWIND range(1000000, 2000000) AS i WITH i LIMIT 3000 RETURN sum(i) AS x", 3004498500),
        ("UNWIND range(1, 20000) AS i RETURN count(i) AS x", 20000),
        ("RETURN size(range(1, 2000000)) AS x", 2000000),
        ("MATCH (t:Sensor) WHERE t.$dtId = 's00' AND 7 IN range(1, 2000000) RETURN 1 AS x", 1),
        ("MATCH (t:Sensor) WITH t LIMIT 1 UNWIND range(5, 30000) AS i RETURN min(i) AS x", 5),
    ],
)
def test_a_range_is_no_list_that_counts_against_the_rows(
    sensors: Any, text: str, value: int
) -> None:
    settings = Settings.model_validate({"Query": {"MaxRows": 100}})
    served = type(sensors)(sensors.store, settings)
    assert served.do(served.graph.queries.run(text)).rows == (b'{"x":%d}' % value,)


def test_a_query_sees_every_write_before_it(sensors: Any) -> None:
    count = "MATCH (t:Sensor) RETURN count(*) AS n"
    run = sensors.graph.queries.run
    assert sensors.do(run(count)).rows == (b'{"n":25}',)
    sensors.put("new", SENSOR)
    assert sensors.do(run(count)).rows == (b'{"n":26}',)
    child: Any = [build_interface("dtmi:com:example:Camera;1", extends=[SENSOR])]
    sensors.do(sensors.graph.models.create_models(child))
    sensors.put("camera", "dtmi:com:example:Camera;1")
    assert sensors.do(run(count)).rows == (b'{"n":27}',)


def test_parameters_of_other_types_get_plans_of_their_own(sensors: Any) -> None:
    text = "MATCH (f:Floor) WHERE f.level = $x RETURN f.level AS l"
    found = {
        repr(x): len(sensors.do(sensors.graph.queries.run(text, {"x": x})).rows)
        for x in (3, 3.0, "3", True, None, [3])
    }
    assert found == {"3": 1, "3.0": 1, "'3'": 0, "True": 0, "None": 0, "[3]": 0}


class GivingUp(CompiledQuery):
    """Runs the first page by key and can run no other."""

    text = "first page only"
    resumable = True

    def run_json(
        self, session: GraphSession, parameters: Mapping[str, Value], **page: Any
    ) -> Iterator[JsonRow]:
        for n in range(page["limit"]):
            if page["after"] is not None:
                raise CannotRun("a value of an odd type")
            yield b'{"serial":"engine"}', n

    def run_rows(self, session: GraphSession, parameters: Mapping[str, Value]) -> Any:
        raise CannotRun("rows")


class GivingUpEngine(QueryEngine):
    """Takes every plan."""

    name = "giving up"

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        return GivingUp()


def test_an_engine_that_gives_up_between_pages_lets_the_evaluator_start_again(
    sensors: Any,
) -> None:
    runner = InlineRunner(sensors.store)
    queries = Graph(runner, sensors.settings, engine=GivingUpEngine()).queries
    first = sensors.do(queries.run(ORDERED, None, None, 3))
    assert first.rows == (b'{"serial":"engine"}',) * 3
    with pytest.raises(InvalidContinuationToken):
        sensors.do(queries.run(None, None, first.continuation_token))
    again = sensors.do(queries.run(ORDERED, None, None, 2))
    assert again.rows == (b'{"serial":"24"}', b'{"serial":"23"}')
    following = sensors.do(queries.run(None, None, again.continuation_token))
    assert following.rows == (b'{"serial":"22"}', b'{"serial":"21"}')


def test_the_charge_grows_with_the_rows(sensors: Any) -> None:
    def charge(size: int) -> float:
        # NOTE: the time of statements counts, too; the least is without that of the machine.
        runs = (sensors.do(sensors.graph.queries.run(ALL, None, None, size)) for _ in range(5))
        return min(run.charge for run in runs)

    assert 1 <= charge(1) < charge(25)


def test_explain_answers_the_plan_and_runs_nothing(sensors: Any) -> None:
    text = "EXPLAIN MATCH (a), (b), (c), (d), (e) RETURN count(*) AS n"
    (row,) = sensors.do(sensors.graph.queries.run(text)).rows
    plan = orjson.loads(row)
    assert "count(*)" in plan["plan"]
    assert all(part["engine"] and part["statement"] for part in plan["pushed"])
    assert all(isinstance(part["indexes"], list) for part in plan["pushed"])


def test_a_result_of_one_page_is_not_kept(sensors: Any) -> None:
    sensors.do(sensors.graph.queries.run(ORDERED, None, None, 25))
    assert not sensors.store.scratch.exists()
    sensors.do(sensors.graph.queries.run(ORDERED, None, None, 24))
    assert len(list(sensors.store.scratch.iterdir())) == 1


def test_a_result_that_is_no_longer_kept_is_to_be_asked_for_again(sensors: Any) -> None:
    run = sensors.graph.queries.run
    token = sensors.do(run(ORDERED, None, None, 5)).continuation_token
    for _ in range(2):  # a page can be asked for again
        assert len(sensors.do(run(None, None, token)).rows) == 5
    for kept in sensors.store.scratch.iterdir():
        kept.unlink()
    with pytest.raises(InvalidContinuationToken, match="Run the query again"):
        sensors.do(run(None, None, token))


def test_a_result_that_is_too_large_is_given_as_far_as_it_goes(sensors: Any) -> None:
    settings = Settings.model_validate({"Query": {"MaxResultBytes": 100}})
    run = type(sensors)(sensors.store, settings).graph.queries.run
    page = sensors.do(run(ORDERED, None, None, 5))
    second = sensors.do(run(None, None, page.continuation_token))
    third = sensors.do(run(None, None, second.continuation_token))
    assert (*page.rows, *second.rows, *third.rows) == tuple(
        b'{"serial":"%02d"}' % n for n in range(24, 24 - 5 - 100 // len(page.rows[0] + b" "), -1)
    )
    with pytest.raises(LimitExceeded, match="Query__MaxResultBytes"):
        sensors.do(run(None, None, third.continuation_token))


def test_an_error_of_a_later_row_comes_where_the_rows_end(sensors: Any) -> None:
    text = "UNWIND [1, 2, 3, 0, 4] AS n RETURN 6 / n AS serial"
    run = sensors.graph.queries.run
    page = sensors.do(run(text, None, None, 2))
    assert page.rows == (b'{"serial":6}', b'{"serial":3}')
    last = sensors.do(run(None, None, page.continuation_token))
    assert last.rows == (b'{"serial":2}',)
    # An engine that must leave the query to the evaluator asks to start again.
    with pytest.raises((QueryInvalid, InvalidContinuationToken), match=r"zero|Run it again"):
        sensors.do(run(None, None, last.continuation_token))
    with pytest.raises(QueryInvalid, match="zero"):  # then it comes with the page that ends there
        sensors.do(run(text, None, None, 3))


def test_a_full_disk_loses_the_next_pages_and_not_the_first(
    sensors: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def write(_self: SpoolWriter, _rows: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SpoolWriter, "write", write)
    run = sensors.graph.queries.run
    page = sensors.do(run(ORDERED, None, None, 5))
    assert len(page.rows) == 5
    assert "No space left" in caplog.text
    with pytest.raises(InvalidContinuationToken, match="Run the query again"):
        sensors.do(run(None, None, page.continuation_token))


def test_the_bytes_of_one_result_fit_into_those_of_all() -> None:
    with pytest.raises(ValueError, match="ResultsBytes"):
        Settings.model_validate({"Query": {"MaxResultBytes": 2, "ResultsBytes": 1}})


def test_zeros_of_both_signs_are_one_number(world: Any) -> None:
    """Which of them is returned is not defined, but where a stored value is returned as it is."""
    for twin_id, area in (("a", -0.0), ("b", 0.0), ("c", 1.0), ("d", -1.0)):
        world.put(twin_id, area=area)

    def ask(text: str) -> list[Any]:
        rows = world.do(world.graph.queries.run(f"MATCH (r:Room) {text}")).rows
        return [orjson.loads(row)["x"] for row in rows]

    assert [repr(x) for x in ask("WHERE r.`$dtId` = 'a' RETURN r.area AS x")] == ["-0.0"]
    assert sorted(ask("WHERE r.area = 0.0 RETURN r.`$dtId` AS x")) == ["a", "b"]
    assert sorted(ask("WHERE r.area IN [-0.0] RETURN r.`$dtId` AS x")) == ["a", "b"]
    assert ask("RETURN r.`$dtId` AS x ORDER BY r.area, r.`$dtId`") == ["d", "a", "b", "c"]
    assert ask("RETURN r.`$dtId` AS x ORDER BY r.area DESC, r.`$dtId`") == ["c", "a", "b", "d"]
    assert ask("WITH DISTINCT r.area AS area RETURN count(area) AS x") == [3]
    assert sorted(ask("WITH r.area AS area, count(*) AS x RETURN x")) == [1, 1, 2]
    for aggregate in ("min", "max"):
        zeros = f"WITH r WHERE r.area = 0 RETURN {aggregate}(r.area) AS x"
        assert ask(zeros) == [0]
