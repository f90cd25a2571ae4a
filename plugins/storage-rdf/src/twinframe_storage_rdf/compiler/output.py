"""Result columns: their expressions, and how a row's terms become values or JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from twinframe.model.rendering import build_json
from twinframe.model.values import Node, Path, Relationship, Value
from twinframe.query.algebra import Query, ResultShape
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.composites import Composite, Shape
from twinframe_storage_rdf.compiler.entities import read_system
from twinframe_storage_rdf.compiler.select import Select
from twinframe_storage_rdf.compiler.term import Term
from twinframe_storage_rdf.terms import Iri, OtherLiteral, Row
from twinframe_storage_rdf.terms import Term as RdfTerm

Cells: TypeAlias = Sequence[RdfTerm]
ReadLabels: TypeAlias = Callable[[str], frozenset[str]]
RenderRow: TypeAlias = Callable[[Row], bytes]


@dataclass(frozen=True, slots=True)
class Column:
    """A result column: its expressions, and how their cells become a value or `orjson` input."""

    columns: tuple[str, ...]
    decode: Callable[[Cells, ReadLabels], Any]


def decode_row(columns: Sequence[Column], row: Cells, labels: ReadLabels) -> list[Any]:
    """Decode the cells of these columns, which follow one another in a row."""
    values, at = [], 0
    for column in columns:
        width = len(column.columns)
        values.append(column.decode(row[at : at + width], labels))
        at += width
    return values


def find_column(select: Select, name: str) -> Term | Composite:
    """The term of a result column."""
    found = select.composites.get(name) or select.scope.get(name)
    if found is None and name in select.known:
        found = Composite(Shape.KNOWN, (), value=select.known[name])
    if found is None:
        raise CannotRun(f"The column {name}.")
    return found


# --- JSON ---------------------------------------------------------------------------------------


def build_body(query: Query, select: Select) -> tuple[list[str], RenderRow]:
    """Return the expressions selected for rows as JSON, and the function that renders a row."""
    terms = [find_column(select, name) for name in query.columns]
    bodies = [_build_column(term, select, _build_json_cell) for term in terms]
    columns = [column for body in bodies for column in body.columns]
    if query.shape is ResultShape.DOCUMENT:
        (term,) = terms
        if isinstance(term, Composite) or term.kinds not in (k.NODE, k.RELATIONSHIP):
            raise CannotRun("A document of something that is no node or relationship.")
        return columns, _read_document
    return columns, _build_render(query, bodies)


def _build_render(query: Query, bodies: Sequence[Column]) -> RenderRow:
    names, sparse = query.columns, query.omit_null
    if all(len(body.columns) == 1 for body in bodies) and not sparse:
        # PERF: most results; their columns are their cells.
        def render_plain(row: Row) -> bytes:
            cells = zip(names, row, strict=False)
            return orjson.dumps({name: _build(cell) for name, cell in cells})

        if all(body.decode is _decode_json for body in bodies):
            return render_plain

    def render(row: Row) -> bytes:
        built = zip(names, decode_row(bodies, row, _read_no_labels), strict=True)
        return orjson.dumps({x: value for x, value in built if value is not None or not sparse})

    return render


def _read_no_labels(_model: str) -> frozenset[str]:
    return frozenset()


def _build_json_cell(term: Term, select: Select) -> Column:
    cell = read_system(term, v.DOCUMENT) if term.kinds & k.ENTITIES else render_column(term, select)
    return Column((cell,), _decode_json)


def _decode_json(cells: Cells, _labels: ReadLabels) -> Any:
    return _build(cells[0])


def _read_document(row: Row) -> bytes:
    document = row[0]
    if not isinstance(document, bytes):
        raise CannotRun("A document that is no JSON text.")
    return document


def render_column(term: Term, select: Select) -> str:
    """An expression as a column of a SELECT."""
    if term.is_variable:
        return term.text
    return f"({term.text} AS {select.statement.build_variable('c')})"


def _build(cell: RdfTerm) -> Any:
    if isinstance(cell, bytes):
        # PERF: a stored text is sent unchanged.
        return orjson.Fragment(cell)
    return build_json(_check(cell))


# --- values -------------------------------------------------------------------------------------


def build_columns(query: Query, select: Select) -> tuple[Column, ...]:
    """The columns of `query`, in order."""
    return tuple(
        _build_column(find_column(select, name), select, _build_value_cells)
        for name in query.columns
    )


def _build_value_cells(term: Term, select: Select) -> Column:
    known = term.kinds & ~k.NULL
    if known == k.NODE:
        model = read_system(term, v.MODEL)
        dtmi = read_system(Term(term.kinds, model, term.owner), v.ID)
        cells = (read_system(term, v.ID), dtmi, read_system(term, v.DOCUMENT))
        return Column(cells, _decode_node)
    if known == k.RELATIONSHIP:
        predicates = (v.SOURCE_ID, v.ID, v.TARGET_ID, v.NAME, v.DOCUMENT)
        return Column(tuple(read_system(term, each) for each in predicates), _decode_relationship)
    return Column((render_column(term, select),), _decode_value)


def _build_column(
    term: Term | Composite, select: Select, build_cells: Callable[[Term, Select], Column]
) -> Column:
    if not isinstance(term, Composite):
        return build_cells(term, select)
    parts = [_build_column(part, select, build_cells) for _, part in term.parts]
    names = [name for name, _ in term.parts]
    is_json = build_cells is _build_json_cell
    known = build_json(term.value) if is_json else term.value

    def decode(cells: Cells, labels: ReadLabels) -> Any:
        values = decode_row(parts, cells, labels)
        if term.strict and any(each is None for each in values):
            return None
        match term.shape:
            case Shape.KNOWN:
                return known
            case Shape.MAP:
                return dict(zip(names, values, strict=True))
            case Shape.PATH if not is_json:
                return Path(tuple(values[::2]), tuple(values[1::2]))
            case _:
                return values

    return Column(tuple(column for part in parts for column in part.columns), decode)


def _decode_node(cells: Cells, labels: ReadLabels) -> Value:
    twin_id, model_id, document = cells
    if twin_id is None:
        return None
    return Node(str(twin_id), _load(document), labels(str(model_id)))


def _decode_relationship(cells: Cells, labels: ReadLabels) -> Value:
    source, relationship_id, target, name, document = cells
    if source is None:
        return None
    return Relationship(str(source), str(relationship_id), str(target), str(name), _load(document))


def _load(document: RdfTerm) -> Any:
    if not isinstance(document, bytes):
        raise CannotRun("A document that is no JSON text.")
    return orjson.loads(document)


def _decode_value(cells: Cells, labels: ReadLabels) -> Value:
    cell = cells[0]
    if isinstance(cell, bytes):
        value: Value = orjson.loads(cell)
        return value
    return _check(cell)


def _check(cell: RdfTerm) -> bool | int | float | str | None:
    if isinstance(cell, OtherLiteral | bytes | Iri):
        raise CannotRun("A value of a datatype that Cypher does not have.")
    return cell
