"""The interface of RDF: graphs written as triples, and SPARQL for graphs that are stored as such.

Both sides are optional: a storage plugin offers them with the hooks `twinframe_triple_writer` and
`twinframe_sparql_engine`.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from twinframe.storage.base import GraphSession


@dataclass(frozen=True, slots=True)
class Syntax:
    """A syntax of answers: a short name, its media types (the first is sent), and a file suffix."""

    name: str
    media_types: tuple[str, ...]
    suffix: str


TURTLE = Syntax("turtle", ("text/turtle",), "ttl")
N_TRIPLES = Syntax("ntriples", ("application/n-triples",), "nt")
N_QUADS = Syntax("nquads", ("application/n-quads",), "nq")
TRIG = Syntax("trig", ("application/trig",), "trig")
JSON_LD = Syntax("jsonld", ("application/ld+json",), "jsonld")

RDF_XML = Syntax("rdfxml", ("application/rdf+xml",), "rdf")

ROWS_JSON = Syntax("json", ("application/sparql-results+json", "application/json"), "srj")
ROWS_XML = Syntax("xml", ("application/sparql-results+xml", "application/xml"), "srx")
ROWS_CSV = Syntax("csv", ("text/csv",), "csv")
ROWS_TSV = Syntax("tsv", ("text/tab-separated-values",), "tsv")

GRAPH_SYNTAXES = (TURTLE, N_TRIPLES, N_QUADS, TRIG, JSON_LD)
"""The syntaxes of exports; the first is the default."""

REPORT_JSON = Syntax("json", ("application/json",), "json")
REPORT_SYNTAXES = (*GRAPH_SYNTAXES, REPORT_JSON)
"""The syntaxes of validation reports."""

TRIPLE_SYNTAXES = (TURTLE, N_TRIPLES, JSON_LD, RDF_XML)
"""The syntaxes of triples that a SPARQL query makes.

RDF/XML, which cannot name every predicate, is for clients that support no other.
"""

ROW_SYNTAXES = (ROWS_JSON, ROWS_XML, ROWS_CSV, ROWS_TSV)
"""The syntaxes of the rows of a SPARQL query."""

TRUTH_SYNTAXES = (ROWS_JSON, ROWS_XML)
"""The syntaxes of the answer to an ASK: the standard has no other."""


class Content(enum.Enum):
    """The parts of a graph that are written."""

    ALL = "all"
    MODELS = "models"
    TWINS = "twins"  # with their relationships


class TripleWriter(ABC):
    """Writes one graph of any storage as RDF. Thread-safe."""

    @abstractmethod
    def write_graph(
        self, session: GraphSession, syntax: Syntax, content: Content
    ) -> Iterator[bytes]:
        """Yield the graph in one of `GRAPH_SYNTAXES`, in pieces and bounded memory.

        The caller holds the snapshot of the session until it has the last piece.
        """

    @abstractmethod
    def write_shapes(self, session: GraphSession, syntax: Syntax) -> Iterator[bytes]:
        """SHACL shapes of the stored models, in one of `GRAPH_SYNTAXES`."""

    @abstractmethod
    def write_report(self, session: GraphSession, syntax: Syntax, most: int) -> Iterator[bytes]:
        """Yield the twins' violations of the shapes, at most `most` results, in one of
        `REPORT_SYNTAXES`. Raises `Unsupported` when the validator is not installed.
        """


class QueryForm(enum.Enum):
    """The form of a SPARQL query."""

    SELECT = "SELECT"
    ASK = "ASK"
    CONSTRUCT = "CONSTRUCT"
    DESCRIBE = "DESCRIBE"

    @property
    def makes_triples(self) -> bool:
        """Whether its result is triples, not rows or a truth value."""
        return self in (QueryForm.CONSTRUCT, QueryForm.DESCRIBE)

    @property
    def syntaxes(self) -> tuple[Syntax, ...]:
        """The syntaxes of its answer; the first is the default."""
        if self is QueryForm.SELECT:
            return ROW_SYNTAXES
        return TRUTH_SYNTAXES if self is QueryForm.ASK else TRIPLE_SYNTAXES


@dataclass(frozen=True, slots=True)
class SparqlQuery:
    """A query that was parsed and may run.

    The graph's triples are its default graph if `default` is set, and its only named graph if
    `named` is.
    """

    text: str
    form: QueryForm
    default: bool = True
    named: bool = True


@dataclass(frozen=True, slots=True)
class SparqlLimits:
    """`text` in bytes; `depth` in nested brackets."""

    text: int
    depth: int


class SparqlEngine(ABC):
    """Read-only SPARQL 1.1 over the triples of one stored graph, and nothing else in its store."""

    @abstractmethod
    def parse_query(
        self,
        text: str,
        limits: SparqlLimits,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> SparqlQuery:
        """Parse a query before it runs; without graphs of the caller, those of the text count.

        Raises `SparqlInvalid`, also for an update, a SERVICE and any graph but the one that is
        served; `LimitExceeded`.
        """

    @abstractmethod
    def run_query(
        self,
        query: SparqlQuery,
        syntax: Syntax,
        deadline: float,
        limit: int,
        write: Callable[[bytes], object],
    ) -> None:
        """Run a query; `write` gets the answer in a syntax of its form, in pieces.

        It ends at `deadline`, a `time.monotonic()` moment, with `QueryTimeout`, and after `limit`
        bytes with `LimitExceeded`, as far as the engine can. It blocks.
        """


@dataclass(frozen=True, slots=True)
class TripleSupport:
    """The RDF support of an installation for one graph.

    `load_writer` returns the writer or raises `Unsupported` saying what to install; `sparql` is
    None when the graph is not stored as RDF.
    """

    load_writer: Callable[[], TripleWriter]
    sparql: SparqlEngine | None = None
