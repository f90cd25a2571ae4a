"""The routes of RDF: exports, shapes and SPARQL; their responders are in `triples`."""

from __future__ import annotations

from typing import Any, Final

from twinframe.http.graph import triples
from twinframe.http.operations import Answer, Body, Parameter, Route

_FORMAT = Parameter(
    "format", "query", "Name of a syntax, such as turtle, nquads or jsonld; stands for Accept."
)
_CONTENT = Parameter("content", "query", "What is written: all, models or twins.")
_QUERY = Parameter("query", "query", "The SPARQL query.", required=True)
_GRAPHS = (
    Parameter("default-graph-uri", "query", "The graph's IRI, or nothing.", list[str]),
    Parameter("named-graph-uri", "query", "The graph's IRI, or nothing.", list[str]),
)
_NO_FORM = "NotAcceptable"
_SPARQL_ERRORS = {
    400: "InvalidArgument, LimitExceeded, SparqlQueryError, TimeoutError",
    404: "NotFound",
    406: _NO_FORM,
    501: "NotImplemented",
}
_RESULT = Answer(
    200, "The rows, or triples.", dict[str, Any], media_type="application/sparql-results+json"
)

TRIPLE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        "/export",
        "Graph_Export",
        "The graph as RDF",
        "query/read",
        triples.export_graph,
        Answer(200, "The triples of one state.", str, media_type="text/turtle"),
        "RDF",
        (_CONTENT, _FORMAT),
        errors={400: "InvalidArgument", 406: _NO_FORM, 501: "NotImplemented"},
        is_strict=True,
    ),
    Route(
        "GET",
        "/export/shapes",
        "Graph_ExportShapes",
        "SHACL shapes of the models",
        "models/read",
        triples.export_shapes,
        Answer(200, "The shapes.", str, media_type="text/turtle"),
        "RDF",
        (_FORMAT,),
        errors={400: "InvalidArgument", 406: _NO_FORM, 501: "NotImplemented"},
        is_strict=True,
    ),
    Route(
        "GET",
        "/export/report",
        "Graph_ExportReport",
        "SHACL validation report of the twins",
        "query/read",
        triples.export_report,
        Answer(200, "The report.", str, media_type="text/turtle"),
        "RDF",
        (_FORMAT,),
        errors={400: "InvalidArgument, TimeoutError", 406: _NO_FORM, 501: "NotImplemented"},
        is_strict=True,
    ),
    Route(
        "GET",
        "/sparql",
        "Sparql_QueryByUrl",
        "Run a SPARQL query",
        "query/read",
        triples.query_by_url,
        _RESULT,
        "RDF",
        (_QUERY, *_GRAPHS, _FORMAT),
        errors=_SPARQL_ERRORS,
    ),
    Route(
        "POST",
        "/sparql",
        "Sparql_QueryByPost",
        "Run a SPARQL query",
        "query/read",
        triples.query_by_post,
        _RESULT,
        "RDF",
        (*_GRAPHS, _FORMAT),
        Body(str, (triples.QUERY_TEXT, triples.FORM)),
        errors=_SPARQL_ERRORS | {415: "UnsupportedMediaType"},
    ),
)
