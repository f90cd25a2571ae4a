"""Results as data frames and Arrow tables: each column has the type of all its values."""

from __future__ import annotations

import datetime as dt
import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinframe
from tests.unit.library.worlds import MODELS, room
from twinframe.library.results import Result

pandas = pytest.importorskip("pandas", reason="no pandas: pip install 'twinframe[pandas]'")
arrow = pytest.importorskip("pyarrow", reason="no pyarrow: pip install 'twinframe[arrow]'")

MOMENT = "2026-03-01T12:00:00.123456789+02:00"


def build(*values: Any) -> Result:
    """A result of one column; a missing member is an Ellipsis."""
    return Result([{} if one is ... else {"x": one} for one in values], ("x",))


@pytest.mark.parametrize(
    ("values", "dtype", "kind"),
    [
        ([1, 2], "int64", "int64"),
        ([1, None, 2**63 - 1], "Int64", "int64"),
        ([1, ...], "Int64", "int64"),
        ([True, False], "bool", "bool"),
        ([True, None], "boolean", "bool"),
        ([1.5, 2, None], "float64", "double"),
        ([1.5, "NaN", "-Infinity"], "float64", "double"),
        (["NaN", "Infinity"], "str", "string"),
        (["2026-03-01", None], "datetime64[s]", "date32[day]"),
        ([MOMENT, "2026-03-01T12:00Z"], "datetime64[ns, UTC]", "timestamp[ns, tz=UTC]"),
        (["2026-03-01T12:00:00", "2026-03-01"], "str", "string"),
        (["2026-13-01"], "str", "string"),
        (["9999-03-01T12:00:00Z"], "str", "string"),
        (["a", None], "str", "string"),
        ([None, ...], "object", "null"),
        ([], "object", "null"),
        ([2**53 + 1, 0.5], "object", "string"),
        ([2**63], "object", "string"),
        ([1, "a"], "object", "string"),
        ([True, 1], "object", "string"),
        ([{"a": 1}, {"b": [2]}, None], "object", "struct<a: int64, b: list<item: int64>>"),
        ([{"a": 1}, {"a": "x"}], "object", "string"),
        ([[1], [2, 3], []], "object", "list<item: int64>"),
        ([{"a": 1}, [1]], "object", "string"),
    ],
)
def test_a_column_has_the_type_of_its_values(values: list[Any], dtype: str, kind: str) -> None:
    result = build(*values)
    frame, table = result.to_pandas(), result.to_arrow()
    wanted = "object" if dtype == "str" and pandas.__version__ < "3" else dtype
    assert (str(frame["x"].dtype), str(table.schema.field("x").type)) == (wanted, kind)
    assert (len(frame), table.num_rows) == (len(values), len(values))
    gaps = [one is None or one is ... for one in values]
    assert table.column("x").is_null().to_pylist() == gaps
    assert (frame["x"].isna() | frame["x"].apply(_is_nan)).tolist() == [
        gap or (value == "NaN" and kind == "double")
        for gap, value in zip(gaps, values, strict=True)
    ]


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def test_moments_keep_their_nanoseconds() -> None:
    table = build(MOMENT, None, "1969-12-31T23:59:59.5Z").to_arrow()
    assert table.column("x").cast(arrow.int64()).to_pylist() == [
        1772359200123456789,
        None,
        -500_000_000,
    ]
    frame = build(MOMENT, None, "1969-12-31T23:59:59.5Z").to_pandas()
    assert frame["x"][0].isoformat() == "2026-03-01T10:00:00.123456789+00:00"
    assert frame["x"][2].value == -500_000_000
    assert build(MOMENT).to_pandas(times=False)["x"][0] == MOMENT
    assert build(MOMENT).to_arrow(times=False).to_pylist() == [{"x": MOMENT}]


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(values=st.lists(JSON, max_size=4))
def test_no_value_of_json_is_lost_or_changed(values: list[Any]) -> None:
    result = build(*values)
    table, frame = result.to_arrow().to_pylist(), result.to_pandas()["x"].tolist()
    is_mixed = any(isinstance(row["x"], str) for row in table) and not all(
        value is None or isinstance(value, str) for value in values
    )
    for value, row, cell in zip(values, table, frame, strict=True):
        found = row["x"]
        if is_mixed and found is not None:
            found = json.loads(found)
        assert _is_same(value, found)
        if value is not None:
            assert _is_same(value, cell)


def _is_same(value: Any, found: Any) -> bool:
    """Whether they are equal; a struct has members that other values of its column have."""
    if isinstance(value, dict):
        names = {*value, *found}
        return all(_is_same(value.get(name), found.get(name)) for name in names)
    if isinstance(value, list):
        return len(value) == len(found) and all(map(_is_same, value, found))
    return bool(value == found)


def test_results_of_both_languages_become_frames(graph: Any) -> None:
    graph.put_twins({"$dtId": f"r{n}", **room(seats=n, built=MOMENT)} for n in range(3))
    graph.put_twin("bare", room())
    frame = graph.query(
        "MATCH (r:Room) RETURN r.`$dtId` AS id, r.seats AS seats, r.built AS built, r AS room "
        "ORDER BY id"
    ).to_pandas()
    assert [str(kind) for kind in frame.dtypes][1:3] == ["Int64", "datetime64[ns, UTC]"]
    assert frame["room"][0]["$dtId"] == "bare"
    assert frame["seats"].sum() == 3
    table = graph.query("SELECT * FROM DIGITALTWINS T WHERE T.seats > 0").to_arrow()
    assert {"$dtId", "seats", "built", "$metadata"} <= set(table.column_names)
    empty = graph.query("MATCH (r:Room) WHERE r.seats > 9 RETURN r.seats AS seats, r.name AS name")
    assert list(empty.to_pandas().columns) == empty.to_arrow().column_names == ["seats", "name"]
    nothing = graph.execute("MATCH (r:Room) SET r.seats = 1")
    assert nothing.to_pandas().shape == (0, 0) == nothing.to_arrow().shape


@pytest.mark.parametrize(("name", "call"), [("pandas", "to_pandas"), ("pyarrow", "to_arrow")])
def test_a_missing_package_is_named_with_its_extra(
    name: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    extra = call.removeprefix("to_")
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'twinframe\[{extra}\]'"):
        getattr(build(1), call)()


def test_columns_of_an_empty_result_are_those_of_the_query() -> None:
    with twinframe.open() as graph:
        graph.create_models(MODELS)
        assert graph.query("MATCH (r:Room) RETURN r.name AS n, r").columns == ("n", "r")
        assert graph.query("SELECT T.name, T.seats FROM DIGITALTWINS T").columns == (
            "name",
            "seats",
        )
        assert graph.query("SELECT * FROM DIGITALTWINS").columns == ()
        graph.put_twin("r", room(seats=2))
        assert graph.query("SELECT T.name, T.seats FROM DIGITALTWINS T").columns == (
            "name",
            "seats",
        )
        assert "seats" in graph.query("SELECT * FROM DIGITALTWINS").columns
        moment = dt.datetime.now(dt.UTC)
        assert graph.query("MATCH (r:Room) RETURN r.name AS n", as_of=moment).columns == ("n",)
