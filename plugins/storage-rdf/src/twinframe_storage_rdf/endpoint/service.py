"""The SPARQL engine of one stored graph: parses a caller's query and runs it over the data graph
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twinframe.storage.triples import SparqlEngine, SparqlLimits, SparqlQuery, Syntax
from twinframe_storage_rdf.endpoint.reading import parse_query
from twinframe_storage_rdf.engine import Engine, Question
from twinframe_storage_rdf.mapping import GraphNames


class Endpoint(SparqlEngine):
    """Runs queries of callers over the graph of these `names`.

    SEC: everything else in the engine, such as the state of the graph and other graphs, is outside
    the dataset that a query runs on, whatever its text says.
    """

    def __init__(self, engine: Engine, names: GraphNames) -> None:
        self._engine = engine
        self._names = names

    def parse_query(
        self,
        text: str,
        limits: SparqlLimits,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> SparqlQuery:
        """Read a query."""
        return parse_query(text, self._names.data, limits, default_graphs, named_graphs)

    def run_query(
        self,
        query: SparqlQuery,
        syntax: Syntax,
        deadline: float,
        limit: int,
        write: Callable[[bytes], object],
    ) -> None:
        """Run it and write its answer."""
        data = self._names.data
        question = Question(
            query.text,
            default=data if query.default else None,
            named=data if query.named else None,
            media_type=syntax.media_types[0],
            form=query.form,
            limit=limit,
        )
        self._engine.answer(question, deadline, write)
