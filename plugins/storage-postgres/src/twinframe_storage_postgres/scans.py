"""The graph reader of the evaluator on PostgreSQL: nodes, relationships and hops as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import orjson

from twinframe.model.ids import MODEL_LABEL, build_labels
from twinframe.model.values import Node, Relationship
from twinframe.query.algebra import Direction, LabelExpression
from twinframe.query.evaluate.labels import compile_labels, find_label_names
from twinframe.query.reader import GraphReader, Hop
from twinframe_storage_postgres.homes import Home
from twinframe_storage_postgres.opening import check_least
from twinframe_storage_postgres.statements import Row, StatementRunner

_LABELS: Final = """
SELECT c.descendant, a.dtmi
FROM @interface_closure c JOIN @interface a ON a.id = c.ancestor ORDER BY c.descendant"""

LabelSets = dict[int, frozenset[str]]
"""Row id of an interface -> the labels of its twins."""


class LabelledModels:
    """The interfaces of a graph at one version of its models. Immutable."""

    def __init__(self, version: int, labels: LabelSets) -> None:
        self.version = version
        self.labels = labels
        self._rows: dict[str, list[int]] = {}
        for interface, names in sorted(labels.items()):
            for name in names:
                self._rows.setdefault(name, []).append(interface)

    def render(self, label: str) -> str:
        """Render the array of the interfaces with a label as SQL."""
        return f"'{{{','.join(map(str, self._rows.get(label, ())))}}}'::bigint[]"


NO_MODELS: Final = LabelledModels(-1, {})
_MOST_MODELS: Final = 1000
_known: Final[dict[str, LabelledModels]] = {}
"""The models that this process saw last, by schema. They are compared before they are relied on."""
_HOPS_AT_ONCE: Final = 500
_SCHEMA_VERSION: Final = "SELECT model_version, least FROM @graph"
_TWIN: Final = "t.dt_id, t.model, t.document"
_ALL_TWINS: Final = f"SELECT {_TWIN} FROM @twin t"  # noqa: S608  (constants of this module)
_TWINS_OF_MODELS: Final = f"{_ALL_TWINS} WHERE t.model = ANY(%b::bigint[])"
_TWINS_BY_ID: Final = f"{_ALL_TWINS} WHERE t.dt_id = ANY(%b::text[])"
_MODELS: Final = """
SELECT dtmi, json_build_object(
  'id', dtmi, 'displayName', display_name::json, 'description', description::json,
  'decommissioned', decommissioned, 'uploadTime', upload_time, 'model', document::json)::text
FROM @interface WHERE position IS NOT NULL ORDER BY position"""
_EDGE: Final = "s.dt_id, r.relationship_id, t.dt_id, r.name, r.document"
_RELATIONSHIPS: Final = (
    f"SELECT {_EDGE} FROM @relationship r JOIN @twin s ON s.id = r.source "  # noqa: S608
    "JOIN @twin t ON t.id = r.target"
)
_OUTGOING: Final = (
    f"SELECT s.dt_id, t.dt_id, {_EDGE} FROM @twin s JOIN @relationship r ON r.source = s.id "  # noqa: S608
    "JOIN @twin t ON t.id = r.target WHERE s.dt_id = ANY(%(origins)b::text[])"
)
_INCOMING: Final = (
    f"SELECT t.dt_id, s.dt_id, {_EDGE} FROM @twin t JOIN @relationship r ON r.target = t.id "  # noqa: S608
    "JOIN @twin s ON s.id = r.source WHERE t.dt_id = ANY(%(origins)b::text[])"
)
_OF_TYPES: Final = " r.name = ANY(%(types)b::text[])"
_DESCENDANTS: Final = """
SELECT d.dtmi FROM @interface a JOIN @interface_closure c ON c.ancestor = a.id
JOIN @interface d ON d.id = c.descendant WHERE a.dtmi = %s"""


def read_label_sets(runner: StatementRunner) -> LabelSets:
    """The labels of every interface."""
    above: dict[int, set[str]] = {}
    for interface, ancestor in runner.read_all(_LABELS):
        above.setdefault(interface, set()).add(ancestor)
    return {interface: build_labels(frozenset(found)) for interface, found in above.items()}


class GraphScans(StatementRunner, GraphReader):
    """Reads for the evaluator; decodes documents, and caches labels until the schema changes."""

    def __init__(self, home: Home, *, standbys: bool = True) -> None:
        super().__init__(home, standbys=standbys)
        self._labelled = NO_MODELS

    def read_schema_version(self) -> int:
        """A random number of the last change of models: a cache key even across rollbacks."""
        if self._version is not None:
            return self._version
        version: int
        version, least = self.read_one(_SCHEMA_VERSION)
        check_least(self.schema, least)
        if self._depth:
            self._version = version
        return version

    def guess_labelled(self) -> LabelledModels:
        """Return the models that were seen last, which may have changed since.

        PERF: reading their version first would take a trip. Compare it after a read.
        """
        return _known.get(self.schema) or self.read_labelled()

    def read_labelled(self) -> LabelledModels:
        """Return the interfaces by label, read again after the models changed."""
        version = self.read_schema_version()
        if version != self._labelled.version:
            found = _known.get(self.schema)
            if found is None or found.version != version:
                found = LabelledModels(version, read_label_sets(self))
                if self._depth:  # else another version may have been read
                    while len(_known) >= _MOST_MODELS:
                        _known.pop(next(iter(_known)), None)
                    _known[self.schema] = found
            self._labelled = found
        return self._labelled

    def read_label_sets(self) -> LabelSets:
        """Return the labels by row id of each interface."""
        return self.read_labelled().labels

    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        """Twins of the interfaces that satisfy `labels`, then models when `Model` is asked for."""
        if labels is None:
            yield from self._build_nodes(self.iterate(_ALL_TWINS))
            return
        holds, sets = compile_labels(labels), self.read_label_sets()
        wanted = [model for model, own in sets.items() if holds(own)]
        if wanted:
            yield from self._build_nodes(self.iterate(_TWINS_OF_MODELS, (wanted,)))
        own = frozenset({MODEL_LABEL})
        if MODEL_LABEL in find_label_names(labels) and holds(own):
            for dtmi, document in self.iterate(_MODELS):
                yield Node(dtmi, orjson.loads(document), own)

    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        """The twins of these ids, with one statement."""
        rows = iter(self.read_all(_TWINS_BY_ID, ([*ids],)))
        return {node.id: node for node in self._build_nodes(rows)}

    def scan_relationships(self, types: Sequence[str]) -> Iterator[Relationship]:
        """Every relationship of these types (empty: of any type)."""
        if types:
            rows = self.iterate(f"{_RELATIONSHIPS} WHERE{_OF_TYPES}", {"types": [*types]})
        else:
            rows = self.iterate(_RELATIONSHIPS)
        for row in rows:
            self.count_read(len(row[-1]))
            yield _build_relationship(row)

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        """The relationships at each origin, one statement for up to 500 origins."""
        sql = _build_hops(direction, bool(types))
        bindings: dict[str, list[str]] = {"types": [*types]} if types else {}
        remaining = iter(origins)
        while batch := list(islice(remaining, _HOPS_AT_ONCE)):
            bindings["origins"] = batch
            for origin, reached, *edge in self.iterate(sql, bindings):
                self.count_read(len(edge[-1]))
                yield Hop(origin, _build_relationship(edge), reached)

    def read_descendants(self, model_id: str) -> frozenset[str]:
        """The DTMIs that extend `model_id`, itself included, from the closure."""
        return frozenset(dtmi for (dtmi,) in self.read_all(_DESCENDANTS, (model_id,)))

    def read_model_ids(self) -> frozenset[str]:
        """The DTMIs of all interfaces the graph still knows."""
        return frozenset(dtmi for (dtmi,) in self.read_all("SELECT dtmi FROM @interface"))

    def _build_nodes(self, rows: Iterator[Row]) -> Iterator[Node]:
        sets = self.read_label_sets()
        for dt_id, model, document in rows:
            labels = sets.get(model)
            if labels is None:  # a model added while the rows were read, outside of a snapshot
                sets = read_label_sets(self)
                labels = sets[model]
            self.count_read(len(document))
            yield Node(dt_id, orjson.loads(document), labels)


def _build_hops(direction: Direction, typed: bool) -> str:
    outgoing, incoming = _OUTGOING, _INCOMING
    if typed:
        outgoing, incoming = f"{outgoing} AND{_OF_TYPES}", f"{incoming} AND{_OF_TYPES}"
    if direction is Direction.OUTGOING:
        return outgoing
    if direction is Direction.INCOMING:
        return incoming
    # A loop is followed once: as an outgoing relationship.
    incoming = f"{incoming} AND r.source <> r.target"
    return f"{outgoing} UNION ALL {incoming}"


def _build_relationship(edge: Sequence[Any]) -> Relationship:
    source, relationship_id, target, name, document = edge
    return Relationship(source, relationship_id, target, name, orjson.loads(document))
