"""The query engine of RDF stores: compiles a plan once to one SPARQL SELECT that runs many times.

Callers cache the compiled plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from twinframe.errors import StorageBusy, StorageError
from twinframe.model.values import Node, Value
from twinframe.query.algebra import Query
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow, QueryEngine
from twinframe.query.evaluate import kinds as k
from twinframe.query.reader import GraphReader
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.abilities import EVERYTHING, KEYS, NARROW, Abilities
from twinframe_storage_rdf.compiler.bindings import (
    HIDDEN,
    Models,
    Source,
    Template,
    find_element_kinds,
    render_count,
)
from twinframe_storage_rdf.compiler.composites import Composite
from twinframe_storage_rdf.compiler.operators import PlanCompiler
from twinframe_storage_rdf.compiler.order import render_text_key
from twinframe_storage_rdf.compiler.output import (
    ReadLabels,
    build_body,
    build_columns,
    decode_row,
    find_column,
)
from twinframe_storage_rdf.compiler.pages import (
    find_needed,
    find_scanned,
    is_selective,
    read_page,
    render_start,
)
from twinframe_storage_rdf.compiler.select import Select
from twinframe_storage_rdf.compiler.shortest import ShortestQuery, find_search
from twinframe_storage_rdf.compiler.term import Statement, Term
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.session import RdfSession, RemoteSession
from twinframe_storage_rdf.terms import Iri, Row, render_iri

_BATCH = 256
"""How many rows of a remote engine are decoded at once: all of them have arrived by then."""

_AFTER, _PAGE = (Source(f"{HIDDEN}{name}") for name in ("after", "page"))
"""The most placeholders of a text that are filled when it runs."""


class SparqlQuery(CompiledQuery):
    """A plan as SPARQL: `text` for JSON rows, and the same rows as values. Immutable.

    At run time SPARQL may turn out not to support a value: iterating then raises `CannotRun`, and
    the caller must discard the rows read so far.
    """

    def __init__(
        self,
        query: Query,
        names: GraphNames,
        parameters: Mapping[str, Value],
        abilities: Abilities = EVERYTHING,
    ) -> None:
        select = _compile(query, names, parameters, abilities)
        self._own, self._is_sliced = _take_page(select)
        key = _find_key(query, select)
        self._key, self.resumable = key, key is not None
        self._place, self._is_selective = "", is_selective(query)
        if key is not None:
            select, self._place = _build_page(select, query, key)
        columns, self._render_row = build_body(query, select)
        self._width, self._is_guarded = len(columns), bool(select.guards)
        self._body = _build_text(select, [*columns, *([] if key is None else [key])], key is None)
        self.text = self._body.render_shown() + "".join(
            f" {word} {each.render_shown()}"
            for word, each in zip(("OFFSET", "LIMIT"), self._own, strict=True)
            if each is not None
        )
        select = _compile(query, names, parameters, abilities)
        _take_page(select)
        self._columns = build_columns(query, select)
        cells = [cell for column in self._columns for cell in column.columns]
        self._rows = _build_text(select, cells)

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """Result rows as JSON bytes; those of a resumable query carry their twin's id as key."""
        rows = self._read_page(session, parameters, after, skip, limit)
        width, render, resumable = self._width, self._render_row, self.resumable
        for row in rows:
            yield render(row), str(row[width]) if resumable else None

    def _read_page(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        after: int | str | None,
        skip: int,
        limit: int | None,
    ) -> Iterator[Row]:
        key, behind = self._key, None if after is None else str(after)
        if key is None:
            return self._run(self._body, session, parameters, skip, limit, "")
        if skip or limit is None or self._is_selective or isinstance(session, RemoteSession):
            start = render_start(self._place, key, behind)
            return self._run(self._body, session, parameters, skip, limit, start)

        def read(start: str, count: int) -> Iterator[Row]:
            return self._run(self._body, session, parameters, 0, count, start)

        return read_page(
            read, self._place, key, behind, limit, _read_session(session).count_twins()
        )

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Result rows as values."""
        reads = _read_session(session)
        labels = reads.read_hierarchy().read_labels
        rows = self._run(self._rows, session, parameters, 0, None, "")
        if not isinstance(reads, RemoteSession):
            for row in rows:
                yield self._decode(row, labels)
            return
        while batch := [self._decode(row, labels) for row in islice(rows, _BATCH)]:
            reads.note(each.id for row in batch for each in row if isinstance(each, Node))
            yield from batch

    def _decode(self, row: Row, labels: ReadLabels) -> tuple[Value, ...]:
        return tuple(decode_row(self._columns, row, labels))

    def _run(
        self,
        body: Template,
        session: GraphReader,
        parameters: Mapping[str, Value],
        skip: int,
        limit: int | None,
        start: str,
    ) -> Iterator[Row]:
        """Yield the requested rows within the query's own SKIP and LIMIT."""
        own_skip, own_limit = (_read_count(each, parameters) for each in self._own)
        if own_limit is not None:
            rest = max(own_limit - skip, 0)
            limit = rest if limit is None else min(limit, rest)
        skip += own_skip or 0
        if self._is_guarded or self._is_sliced:
            # NOTE: a row that stops the query must not be among the rows that are skipped.
            page = "" if limit is None else f" LIMIT {render_count(_cap(skip + limit))}"
        else:
            page = "" if limit is None else f" LIMIT {render_count(limit)}"
            page += f" OFFSET {render_count(_cap(skip))}" if skip else ""
            skip = 0
        places = {**parameters, str(_AFTER.name): start, str(_PAGE.name): page}
        rows = self._take(session, body.render(places, _build_finder(session)))
        return islice(rows, skip, None if limit is None else skip + limit)

    def _take(self, session: GraphReader, text: str) -> Iterator[Row]:
        try:
            rows = _read_session(session).select(text)
        except StorageBusy:
            raise
        except StorageError as error:
            # NOTE: servers refuse some queries although each part of them works.
            raise CannotRun(f"The engine does not take the query: {error.message}") from error
        return self._check(rows) if self._is_guarded else rows

    def _check(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if row[-1] is True:
                raise CannotRun("A value that SPARQL would treat differently.")
            yield row


def _cap(count: int) -> int:
    return min(count, 2**63 - 1)


def _read_count(count: Template | None, parameters: Mapping[str, Value]) -> int | None:
    return None if count is None else int(count.render(parameters, lambda _: ()))


def _take_page(select: Select) -> tuple[tuple[Template | None, Template | None], bool]:
    """Take the query's own SKIP and LIMIT out of the SELECT; also return whether it had guards."""
    build = select.statement.bindings.build_template
    own = tuple(None if each is None else build(each) for each in (select.skip, select.limit))
    select.has_page = select.skip is not None or select.limit is not None
    select.skip = select.limit = None
    return (own[0], own[1]), bool(select.guards)


def _compile(
    query: Query, names: GraphNames, parameters: Mapping[str, Value], abilities: Abilities
) -> Select:
    statement = Statement(
        names,
        {name: _find_kind(value) for name, value in parameters.items()},
        {
            name: find_element_kinds(value)
            for name, value in parameters.items()
            if isinstance(value, list) and not find_element_kinds(value) & ~k.SCALAR
        },
        find_needed(query),
        abilities,
    )
    select = PlanCompiler(statement).compile(query.root)
    for name in query.columns:
        _check_column(find_column(select, name), abilities)
    return select


def _check_column(column: Term | Composite, abilities: Abilities) -> None:
    if isinstance(column, Composite):
        for _, part in column.parts:
            _check_column(part, abilities)
    elif not column.kinds & k.ENTITIES:
        abilities.check_column(column.kinds, is_computed=column.source is None)


def _find_kind(value: Value) -> int:
    kind = k.find_kind(value)
    if kind is None:
        raise CannotRun(f"A parameter of the type {type(value).__name__}.")
    return kind


def _find_key(query: Query, select: Select) -> str | None:
    """Return the variable of the ids of the twins that a plain scan reads; None for other plans."""
    name = find_scanned(query.root)
    if (
        name is None
        or select.has_page
        or not select.is_open
        or select.order_by
        or select.guards
        or select.composites
        or not select.statement.abilities.has(KEYS)
    ):
        return None
    subject = select.root.scanned.get(name)
    if subject is None:
        return None
    return select.root.read(subject, v.ID, certain=True, nullable=False)


def _build_page(select: Select, query: Query, key: str) -> tuple[Select, str]:
    """Build the page of a scan in the order of places and keys; also return their variable.

    Documents are read only for the rows of the page.
    """
    bind = select.statement.bindings.bind
    subject = select.root.scanned[str(find_scanned(query.root))]
    place = select.root.read(subject, v.BUCKET, certain=True, nullable=False)
    order = [f"ASC({place})", f"ASC({render_text_key(key)})"]
    select.root.heads.append(bind(_AFTER, str))
    select.order_by, select.order_mark = order, NARROW
    page = select.build_wrapped([*query.columns], extra=(place, key), page=bind(_PAGE, str))
    page.order_by, page.order_mark = order, NARROW
    return page, place


def _build_text(select: Select, columns: list[str], is_page: bool = True) -> Template:
    """Build the whole query; its last column, if needed, says that the evaluator must answer."""
    trap = select.build_trap()
    graph = render_iri(select.statement.names.data)
    # NOTE: in some engines a variable that is selected twice is one column.
    named = [_rename(column, at) for at, column in enumerate(columns)]
    if trap is not None:
        named.append(f"(({trap}) AS ?trap)")
    if not named:
        named.append("(1 AS ?nothing)")
    text = f"{select.render_head(named)} FROM {graph} WHERE {select.render_rest()}"
    select.statement.abilities.check_text(text)
    bindings = select.statement.bindings
    return bindings.build_template(text + (bindings.bind(_PAGE, str) if is_page else ""))


def _rename(column: str, at: int) -> str:
    return f"({column} AS ?o{at})" if column.startswith("?") else column


def _build_finder(session: GraphReader) -> Callable[[Models], Sequence[Iri]]:
    reads = _read_session(session)

    def find_models(models: Models) -> Sequence[Iri]:
        hierarchy = reads.read_hierarchy()
        return [
            reads.names.build_model_iri(model_id)
            for model_id in hierarchy.interfaces
            if models.holds(hierarchy.read_labels(model_id))
        ]

    return find_models


def _read_session(session: GraphReader) -> RdfSession:
    if not isinstance(session, RdfSession):
        raise CannotRun("A session of another store.")
    return session


class SparqlQueryEngine(QueryEngine):
    """Compiles plans to SPARQL over the graph of these names.

    `find_abilities` is called at each compilation and returns what the store's engine does exactly.
    """

    name = "sparql"

    def __init__(
        self, names: GraphNames, find_abilities: Callable[[], Abilities] = lambda: EVERYTHING
    ) -> None:
        self._names = names
        self._find_abilities = find_abilities

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """The compiled plan, or `CannotRun` naming what SPARQL cannot say exactly."""
        abilities = self._find_abilities()
        if find_search(query, parameters) is not None:
            return ShortestQuery(query, self._names, parameters, abilities)
        return SparqlQuery(query, self._names, parameters, abilities)
