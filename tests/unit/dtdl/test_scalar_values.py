"""Values of the predefined schemas: what conforms and what does not."""

from __future__ import annotations

import pytest

from twinframe.dtdl import GeospatialSchema, PrimitiveSchema, compile_test, list_mismatches

CONFORMING: dict[str, list[object]] = {
    "boolean": [True, False],
    "integer": [0, -0, 2**31 - 1, -(2**31)],
    "long": [2**31, 2**63 - 1, -(2**63)],
    "float": [0, 3, -2.5, 3.402823e38],
    "double": [0, 3, -2.5, 1e308, 10**300],
    "string": ["", "x"],
    "date": ["2024-02-29", "0001-01-01", "9999-12-31"],
    "time": ["00:00:00Z", "23:59:59.123456789+11:45", "12:00:00-00:00", "12:00:00+14:00"],
    "dateTime": ["2024-02-29T12:00:00Z", "1980-01-01T06:00:00.00015-01:15"],
    "duration": ["P1Y", "P1Y2M3DT4H5M6S", "PT0.5S", "P0.5Y", "P2W", "P1W2D", "PT36H", "PT1,5M"],
}
REFUSED: dict[str, list[object]] = {
    "boolean": [0, 1, "true", None],
    "integer": [1.0, 2**31, -(2**31) - 1, True, "3", None],
    "long": [1.0, 2**63, False],
    "float": [3.402824e38, float("inf"), float("nan"), True, "1", None],
    "double": [float("inf"), float("nan"), 10**400, False, "1.5", None],
    "string": [1, None, ["x"], {}],
    "date": ["2023-02-29", "2024-13-01", "24-01-01", "2024-1-1", "0000-01-01", "2024-01-01Z", 1],
    "time": ["12:00:00", "24:00:00Z", "23:60:00Z", "23:59:60Z", "12:00Z", "12:00:00+1:00",
             "12:00:00+24:00", "12:00:00z", "12:00:00Z\n", "١٢:00:00Z"],
    "dateTime": ["2024-02-29", "2023-02-29T00:00:00Z", "2024-01-01T00:00:00",
                 "2024-01-01t00:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00+11"],
    "duration": ["P", "PT", "P1DT", "1D", "P1S", "PT1D", "P0.5Y1M", "P1Y1W", "P-1D", "P1D\n", ""],
}  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "value"), [(name, value) for name, values in CONFORMING.items() for value in values]
)
def test_conforming_values_are_accepted(schema: str, value: object) -> None:
    assert compile_test(PrimitiveSchema(schema))(value)
    assert list(list_mismatches(PrimitiveSchema(schema), value)) == []


@pytest.mark.parametrize(
    ("schema", "value"), [(name, value) for name, values in REFUSED.items() for value in values]
)
def test_other_values_are_refused_with_what_would_be_right(schema: str, value: object) -> None:
    assert not compile_test(PrimitiveSchema(schema))(value)
    (mismatch,) = list_mismatches(PrimitiveSchema(schema), value)
    assert mismatch.right


def test_geometries_are_geojson_objects() -> None:
    point = compile_test(GeospatialSchema("point"))
    assert point({"type": "Point", "coordinates": [8.5, 47.4]})
    assert not point({"type": "Polygon", "coordinates": [8.5, 47.4]})
    assert not point({"type": "Point", "coordinates": [[8.5, 47.4]]})
    polygon = compile_test(GeospatialSchema("polygon"))
    assert polygon({"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]})


@pytest.mark.parametrize(
    ("name", "coordinates", "path", "least"),
    [
        ("point", [8.5], "/coordinates", 2),
        ("point", [], "/coordinates", 2),
        ("multiPoint", [[8.5, 47.4], [8.5]], "/coordinates/1", 2),
        ("lineString", [[8.5, 47.4]], "/coordinates", 2),
        ("multiLineString", [[[8.5, 47.4]]], "/coordinates/0", 2),
        ("polygon", [[[0, 0], [1, 0], [0, 0]]], "/coordinates/0", 4),
        ("multiPolygon", [[[[0, 0], [1, 0], [1, 1], [0]]]], "/coordinates/0/0/3", 2),
    ],
)
def test_a_geometry_of_fewer_numbers_than_geojson_asks_for_is_refused(
    name: str, coordinates: object, path: str, least: int
) -> None:
    schema = GeospatialSchema(name)
    value = {"type": f"{name[0].upper()}{name[1:]}", "coordinates": coordinates}
    assert not compile_test(schema)(value)
    (mismatch,) = list_mismatches(schema, value)
    assert (mismatch.path, mismatch.right) == (path, f"an array of at least {least} items")


@pytest.mark.parametrize(
    ("name", "coordinates"),
    [
        ("point", [8.5, 47.4, 408]),
        ("multiPoint", []),
        ("lineString", [[8.5, 47.4], [8.6, 47.4]]),
        ("multiPolygon", [[[[0, 0], [1, 0], [1, 1], [0, 0]]]]),
    ],
)
def test_a_geometry_of_as_many_numbers_as_geojson_asks_for_conforms(
    name: str, coordinates: object
) -> None:
    schema = GeospatialSchema(name)
    value = {"type": f"{name[0].upper()}{name[1:]}", "coordinates": coordinates}
    assert compile_test(schema)(value)
    assert list(list_mismatches(schema, value)) == []
