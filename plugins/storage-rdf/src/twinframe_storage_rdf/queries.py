"""The SPARQL texts that read records, and the conversion of their rows to records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

from twinframe.storage.base import ModelRecord, RelationshipRecord, TwinRecord
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.terms import Iri, Row, Term, render_iri, render_term

_P: Final = {name: f"<{value}>" for name, value in vars(v).items() if isinstance(value, Iri)}

_TWIN: Final = (
    f"?twin {_P['ID']} ?id ; {_P['MODEL']} ?model ; {_P['ETAG']} ?etag ; "
    f"{_P['DOCUMENT']} ?document ."
)
_RELATIONSHIP: Final = (
    f"?r {_P['SOURCE_ID']} ?sourceId ; {_P['ID']} ?id ; {_P['NAME']} ?name ; "
    f"{_P['TARGET_ID']} ?targetId ; {_P['ETAG']} ?etag ; {_P['DOCUMENT']} ?document ."
)
_MODEL: Final = (
    f"?m {_P['POSITION']} ?position ; {_P['ID']} ?id ; {_P['DOCUMENT']} ?document ; "
    f"{_P['DISPLAY_NAME']} ?displayName ; {_P['DESCRIPTION']} ?description ; "
    f"{_P['REFERENCES']} ?references ; {_P['UPLOAD_TIME']} ?uploadTime ; "
    f"{_P['DECOMMISSIONED']} ?decommissioned ."
)
_TWIN_COLUMNS: Final = "?id ?model ?etag ?document"
_RELATIONSHIP_COLUMNS: Final = "?sourceId ?id ?name ?targetId ?etag ?document"
_MODEL_COLUMNS: Final = (
    "?id ?document ?displayName ?description ?references ?uploadTime ?decommissioned ?position"
)

# NOTE: the expression that pages are compared and ordered by. Virtuoso numbers strings in order of
# arrival, and compares stored strings by these numbers, in some orders too; computed ones by their
# text.
_ID: Final = "STR(?id)"
_SOURCE_ID: Final = "STR(?sourceId)"
_KEY: Final = "STR(?key)"


@dataclass(frozen=True, slots=True)
class Queries:
    """Builds the texts for one graph."""

    names: GraphNames

    # --- twins ----------------------------------------------------------------------------------

    def twins_by_id(self, ids: Iterable[str], *, ordered: bool = False) -> str:
        """Return the query for the twins of these ids; `ordered` sorts by id."""
        wanted = _values("?twin", map(v.build_twin_iri, ids))
        order = f"ORDER BY {_ID}" if ordered else ""
        return self._select(_TWIN_COLUMNS, f"{wanted} {_TWIN}", order)

    def twins_by_model(self, models: Sequence[str] | None) -> str:
        """Twin rows of all models, or of these."""
        if models is None:
            return self._select(_TWIN_COLUMNS, _TWIN)
        wanted = _values("?model", map(self.names.build_model_iri, models))
        return self._select(_TWIN_COLUMNS, f"{wanted} {_TWIN}")

    def document_of(self, subject: Iri) -> str:
        """Etag and document of a twin or relationship."""
        iri = render_iri(subject)
        return self._select(
            "?etag ?document", f"{iri} {_P['ETAG']} ?etag ; {_P['DOCUMENT']} ?document ."
        )

    def model_of_twin(self, twin_id: str) -> str:
        """The class of a twin."""
        return self._select(
            "?model", f"{render_iri(v.build_twin_iri(twin_id))} {_P['MODEL']} ?model ."
        )

    def models_of_twins(self, ids: Iterable[str]) -> str:
        """Id and class of these twins."""
        wanted = _values("?twin", map(v.build_twin_iri, ids))
        return self._select("?id ?model", f"{wanted} ?twin {_P['ID']} ?id ; {_P['MODEL']} ?model .")

    def twin_ids(self, places: range | None = None) -> str:
        """The ids of all twins, or of those at these places."""
        return self._select("?id", f"{_at(places)} ?twin {_P['MODEL']} ?model ; {_P['ID']} ?id .")

    def twins_of_models(self) -> str:
        """How many twins each class has."""
        data = render_iri(self.names.data)
        return (
            f"SELECT ?model (COUNT(?twin) AS ?count) WHERE {{ GRAPH {data} "
            f"{{ ?twin {_P['MODEL']} ?model }} }} GROUP BY ?model"
        )

    # --- relationships --------------------------------------------------------------------------

    def relationships_by_key(
        self, keys: Iterable[tuple[str, str]], *, ordered: bool = False
    ) -> str:
        """Relationship rows of these sources and ids; `ordered` sorts by both."""
        wanted = _values("?r", (v.build_relationship_iri(*key) for key in keys))
        order = f"ORDER BY {_SOURCE_ID} {_ID}" if ordered else ""
        return self._select(_RELATIONSHIP_COLUMNS, f"{wanted} {_RELATIONSHIP}", order)

    def relationship_keys(self, places: range | None = None) -> str:
        """Source and id of all relationships, or of those whose source is at these places."""
        source = "" if places is None else f"?r {_P['SOURCE']} ?twin ."
        return self._select(
            "?sourceId ?id",
            f"{_at(places)} {source} ?r {_P['SOURCE_ID']} ?sourceId ; {_P['ID']} ?id .",
        )

    def relationships_by_type(self, types: Sequence[str]) -> str:
        """Relationship rows of these types, of all if there are none."""
        wanted = _values("?name", types) if types else ""
        return self._select(_RELATIONSHIP_COLUMNS, f"{wanted} {_RELATIONSHIP}")

    def relationships_at(self, end: Iri, twins: Iterable[str], types: Sequence[str]) -> str:
        """Relationship rows at these twins; `end` is `SOURCE` or `TARGET`."""
        wanted = _values("?twin", map(v.build_twin_iri, twins))
        # PERF: as VALUES, Oxigraph starts from all relationships of these names: 40 times slower.
        named = f"FILTER(?name IN ({', '.join(map(render_term, types))}))" if types else ""
        return self._select(
            _RELATIONSHIP_COLUMNS, f"{wanted} ?r {render_iri(end)} ?twin . {_RELATIONSHIP} {named}"
        )

    def outgoing(self, source_id: str, name: str | None, after: str | None, limit: int) -> str:
        """A page of relationship rows by id."""
        source = render_iri(v.build_twin_iri(source_id))
        named = "" if name is None else f"?r {_P['NAME']} {render_term(name)} ."
        behind = "" if after is None else f"FILTER({_ID} > {render_term(after)})"
        return self._select(
            _RELATIONSHIP_COLUMNS,
            f"?r {_P['SOURCE']} {source} . {named} {_RELATIONSHIP} {behind}",
            f"ORDER BY {_ID} LIMIT {limit}",
        )

    def incoming(self, target_id: str, after: Sequence[str], limit: int) -> str:
        """A page of relationship rows by source and id; `after` is both, or nothing."""
        target = render_iri(v.build_twin_iri(target_id))
        behind = ""
        if after:
            source, key = map(render_term, after)
            # NOTE: Virtuoso evaluates the two as one condition wrongly.
            behind = (
                f"FILTER({_SOURCE_ID} >= {source}) "
                f"FILTER({_SOURCE_ID} != {source} || {_ID} > {key})"
            )
        return self._select(
            _RELATIONSHIP_COLUMNS,
            f"?r {_P['TARGET']} {target} . {_RELATIONSHIP} {behind}",
            f"ORDER BY {_SOURCE_ID} {_ID} LIMIT {limit}",
        )

    def keys_at(self, twin_id: str, limit: int) -> str:
        """Source and id of some relationships at a twin."""
        twin = render_iri(v.build_twin_iri(twin_id))
        both = " UNION ".join(f"{{ ?r {_P[end]} {twin} }}" for end in ("SOURCE", "TARGET"))
        return self._select(
            "?sourceId ?id",
            f"{both} ?r {_P['SOURCE_ID']} ?sourceId ; {_P['ID']} ?id .",
            f"LIMIT {limit}",
        )

    def parallels(self, edges: Iterable[tuple[str, str, str]]) -> str:
        """Source, name, target and id of relationships like these (source, name, target)."""
        rows = " ".join(
            f"({render_iri(v.build_twin_iri(source))} {render_term(name)} "
            f"{render_iri(v.build_twin_iri(target))})"
            for source, name, target in edges
        )
        return self._select(
            "?sourceId ?name ?targetId ?id",
            f"VALUES (?source ?name ?target) {{ {rows} }} ?r {_P['SOURCE']} ?source ; "
            f"{_P['TARGET']} ?target ; {_P['NAME']} ?name ; {_P['SOURCE_ID']} ?sourceId ; "
            f"{_P['TARGET_ID']} ?targetId ; {_P['ID']} ?id .",
        )

    # --- models ---------------------------------------------------------------------------------

    def interfaces(self) -> str:
        """Every known interface with each of its parents (one row without, if it has none)."""
        return self._select(
            "?id ?parent",
            f"?m a {_P['INTERFACE']} ; {_P['ID']} ?id . "
            f"OPTIONAL {{ ?m {_P['RDFS_SUBCLASS']} ?parent }}",
        )

    def models_by_id(self, ids: Iterable[str]) -> str:
        """Model rows of these ids."""
        wanted = _values("?m", map(self.names.build_model_iri, ids))
        return self._select(_MODEL_COLUMNS, f"{wanted} {_MODEL}")

    def models_after(self, position: int, limit: int | None) -> str:
        """Model rows by position."""
        ending = "" if limit is None else f" LIMIT {limit}"
        return self._select(
            _MODEL_COLUMNS,
            f"{_MODEL} FILTER(?position > {position})",
            f"ORDER BY ?position{ending}",
        )

    def stored_models(self) -> str:
        """The ids of the stored models."""
        return self._select("?id", f"?m {_P['POSITION']} ?position ; {_P['ID']} ?id .")

    def referrers(self, model_id: str) -> str:
        """Id and position of the stored models that name the model."""
        model = render_iri(self.names.build_model_iri(model_id))
        both = " UNION ".join(
            f"{{ ?m {_P[end]} {model} }}" for end in ("RDFS_SUBCLASS", "COMPONENT")
        )
        data = render_iri(self.names.data)
        return (
            f"SELECT DISTINCT ?id ?position WHERE {{ GRAPH {data} {{ {both} "
            f"?m {_P['POSITION']} ?position ; {_P['ID']} ?id . }} }}"
        )

    # --- state ----------------------------------------------------------------------------------

    def state(self) -> str:
        """All triples of the graph's state in the state graph."""
        iri = render_iri(self.names.state)
        return f"SELECT ?p ?o WHERE {{ GRAPH {iri} {{ {iri} ?p ?o }} }}"

    def undo(self, versions: Iterable[int]) -> str:
        """Resource and undo of the writes that made these versions."""
        wanted = _values("?w", (v.build_write_iri(self.names.state, x) for x in versions))
        return self._select_state("?w ?undo", f"{wanted} ?w {_P['UNDO']} ?undo .")

    def write_times(self) -> str:
        """Resource and time (seconds since 1970) of those writes that have one."""
        return self._select_state("?w ?at", f"?w {_P['WRITTEN_AT']} ?at .")

    def members_of(self, subjects: Iterable[Iri]) -> str:
        """Subject and predicate of all triples of some subjects in the state graph."""
        return self._select_state("?s ?p", f"{_values('?s', subjects)} ?s ?p ?o .")

    # --- the service's own ----------------------------------------------------------------------

    def entries_by_key(self, keys: Iterable[tuple[str, str]]) -> str:
        """Resource and body of entries of these kinds and keys."""
        wanted = _values("?e", (v.build_entry_iri(*key) for key in keys))
        return self._select_state("?e ?body", f"{wanted} ?e {_P['BODY']} ?body .")

    def entries_after(self, kind: str, after: str | None, limit: int) -> str:
        """A page of keys and bodies of a kind."""
        behind = "" if after is None else f"FILTER({_KEY} > {render_term(after)})"
        return self._select_state(
            "?key ?body",
            f"?e {render_iri(v.build_key_iri(kind))} ?key ; {_P['BODY']} ?body . {behind}",
            f"ORDER BY {_KEY} LIMIT {limit}",
        )

    def events_at(self, positions: Iterable[int]) -> str:
        """Resource and text of the events at these positions."""
        wanted = _values("?e", map(v.build_event_iri, positions))
        return self._select_state("?e ?event", f"{wanted} ?e {_P['EVENT']} ?event .")

    def replacements(self, twin_id: str, relationship_id: str) -> str:
        """Resources of the events that replaced or deleted a twin or relationship."""
        entity = render_iri(v.build_entity_iri(twin_id, relationship_id))
        return self._select_state("?e", f"?e {_P['REPLACES']} {entity} .")

    def event_sizes(self, positions: Iterable[int]) -> str:
        """Return the query for resource and text length of the events at these positions."""
        wanted = _values("?e", map(v.build_event_iri, positions))
        columns = "?e (STRLEN(STR(?event)) AS ?length)"
        return self._select_state(columns, f"{wanted} ?e {_P['EVENT']} ?event .")

    def _select_state(self, columns: str, pattern: str, ending: str = "") -> str:
        state = render_iri(self.names.state)
        return f"SELECT {columns} WHERE {{ GRAPH {state} {{ {pattern} }} }} {ending}"

    def _select(self, columns: str, pattern: str, ending: str = "") -> str:
        data = render_iri(self.names.data)
        return f"SELECT {columns} WHERE {{ GRAPH {data} {{ {pattern} }} }} {ending}"


# --- rows ---------------------------------------------------------------------------------------


def read_twin_row(names: GraphNames, row: Row) -> TwinRecord:
    """A twin row."""
    twin_id, model, etag, body = cast("tuple[Any, ...]", row)
    return TwinRecord(twin_id, names.parse_model_iri(model), etag, body)


def read_relationship_row(row: Row) -> RelationshipRecord:
    """A relationship row."""
    return RelationshipRecord(*cast("tuple[Any, ...]", row))


def read_model_row(row: Row) -> ModelRecord:
    """A model row."""
    key, document, name, description, refs, time, gone, position = cast("tuple[Any, ...]", row)
    references = cast("dict[str, list[str]]", orjson.loads(refs))
    return ModelRecord(
        model_id=key,
        document=document,
        display_name=name,
        description=description,
        extends=tuple(references["extends"]),
        components=tuple(references["components"]),
        upload_time=time,
        decommissioned=gone,
        position=position,
    )


def _at(places: range | None) -> str:
    if places is None:
        return ""
    return f"VALUES ?place {{ {' '.join(map(str, places))} }} ?twin {_P['BUCKET']} ?place ."


def _values(variable: str, terms: Iterable[Term]) -> str:
    return f"VALUES {variable} {{ {' '.join(map(render_term, terms))} }}"
