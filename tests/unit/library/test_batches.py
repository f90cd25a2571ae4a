"""Long results as Arrow batches: the table that `to_arrow` makes, a page at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinframe
from tests.unit.library.worlds import MODELS, room
from twinframe.errors import QueryInvalid

arrow = pytest.importorskip("pyarrow", reason="no pyarrow: pip install 'twinframe[arrow]'")

from twinframe.library.batches import RowSpool  # noqa: E402  (it needs pyarrow to run)
from twinframe.library.results import Result  # noqa: E402

SCALARS = st.sampled_from(
    [None, True, 1, -1, 2**53 + 1, 2**63, 0.5, "Infinity", "a", "2026-03-01", "2026-03-01T12:00Z"]
)
INNER = st.one_of(st.none(), st.integers(-5, 5), st.text("ab", max_size=2))
VALUES = st.one_of(
    SCALARS,
    st.lists(INNER, max_size=2),
    st.dictionaries(st.sampled_from("ab"), INNER, min_size=1, max_size=2),
)
ROWS = st.lists(st.dictionaries(st.sampled_from(["x", "y"]), VALUES), max_size=6)
ALIKE = st.sampled_from(
    [st.lists(st.fixed_dictionaries({"x": one}), max_size=6) for one in (SCALARS, VALUES)]
)


def stream(rows: list[Any], size: int, columns: tuple[str, ...], *, times: bool) -> Any:
    spool = RowSpool(times=times)
    texts = [json.dumps(row).encode() for row in rows]
    for start in range(0, len(texts), size):
        spool.add(texts[start : start + size])
    return spool.build_reader(columns).read_all()


@given(rows=st.one_of(ROWS, ALIKE.flatmap(lambda one: one)), size=st.integers(1, 3), times=...)
def test_batches_are_the_table_of_the_whole_result(rows: list[Any], size: int, times: bool) -> None:
    columns = ("x", "y")
    whole = Result(rows, columns).to_arrow(times=times)
    streamed = stream(rows, size, columns, times=times)
    assert {one.name: one.type for one in streamed.schema} == {
        one.name: one.type for one in whole.schema
    }
    assert streamed.to_pylist() == whole.to_pylist()


def test_documents_that_differ_have_the_members_of_all() -> None:
    rows: list[Any] = [{"x": {"a": 1}}, {"x": {"b": [0.5]}}, {"x": {"a": 2, "b": [1]}}]
    found = stream(rows, 1, ("x",), times=True)
    assert found.to_pylist() == [
        {"x": {"a": 1, "b": None}},
        {"x": {"a": None, "b": [0.5]}},
        {"x": {"a": 2, "b": [1.0]}},
    ]
    assert stream([{"x": [2**60 + 1]}, {"x": [0.5]}], 1, ("x",), times=True).to_pylist() == [
        {"x": "[1152921504606846977]"},
        {"x": "[0.5]"},
    ]


TEXT = "MATCH (r:Room) RETURN r.seats AS seats, r AS twin ORDER BY seats"


def test_a_page_of_the_result_is_a_batch() -> None:
    sizes = {"Query__PageSize": 100, "Query__MaxPageSize": 100}
    with twinframe.open(settings={"Storage__Provider": "memory", **sizes}) as graph:
        graph.create_models(MODELS)
        graph.put_twins({"$dtId": f"r{n}", **room(seats=n)} for n in range(250))
        with graph.stream_arrow(TEXT) as reader:
            assert str(reader.schema.field("seats").type) == "int64"
            assert [batch.num_rows for batch in reader] == [100, 100, 50]


def test_both_languages_and_transactions_stream(graph: Any) -> None:
    graph.put_twins({"$dtId": f"r{n}", **room(seats=n)} for n in range(5))
    assert graph.stream_arrow(TEXT).read_all().column("seats").to_pylist() == [*range(5)]
    with graph.transaction() as tx:
        tx.put_twin("more", room(seats=-1))
        assert tx.stream_arrow(TEXT).read_next_batch().column("seats")[0].as_py() == -1
    with graph.stream_arrow("SELECT T.seats FROM DIGITALTWINS T WHERE T.seats < 0") as reader:
        assert reader.read_all().to_pylist() == [{"seats": -1}]
    with pytest.raises(QueryInvalid):
        graph.stream_arrow("MATCH (r:Room RETURN r")
    assert graph.stream_arrow("MATCH (n:Nobody) RETURN n.x AS x").read_all().num_rows == 0
