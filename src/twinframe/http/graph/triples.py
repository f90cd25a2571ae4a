"""The graph as RDF: responders and routes of exports, shapes and SPARQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import parse_qs

from falcon import mediatypes
from falcon.asgi import Request, Response
from falcon.errors import InvalidMediaRange

from twinframe.errors import InvalidArgument, SparqlInvalid
from twinframe.errors.nearest import find_nearest
from twinframe.http.api_context import GraphApiContext
from twinframe.http.errors import NotAcceptable, RouteNotFound, UnsupportedMediaType
from twinframe.http.messages import read_exchange
from twinframe.http.operations import Answer, Body, Parameter, Route
from twinframe.http.streaming import ByteStream, leave_out_stream, stream_answer
from twinframe.storage.triples import GRAPH_SYNTAXES, REPORT_SYNTAXES, Content, Syntax

FORM = "application/x-www-form-urlencoded"
QUERY_TEXT = "application/sparql-query"
UPDATE_TEXT = "application/sparql-update"

_MOST_FIELDS = 64


async def export_graph(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: the graph as RDF, of one state."""
    syntax = _choose_syntax(request, GRAPH_SYNTAXES)
    content = _read_content(request)
    _write_head(response, syntax, "graph" if content is Content.ALL else content.value)
    if not _is_head(api, request, response):
        await read_exchange(request).read_body()
        stream = await api.graph.triples.export_graph(syntax, content)
        _write_stream(request, response, stream)


async def export_shapes(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: SHACL shapes of the stored models."""
    syntax = _choose_syntax(request, GRAPH_SYNTAXES)
    _write_head(response, syntax, "shapes")
    if not _is_head(api, request, response):
        await read_exchange(request).read_body()
        _write_stream(request, response, await api.graph.triples.export_shapes(syntax))


async def export_report(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: a SHACL report of the twins that violate the shapes of their models."""
    syntax = _choose_syntax(request, REPORT_SYNTAXES)
    _write_head(response, syntax, "report")
    if not _is_head(api, request, response):
        await read_exchange(request).read_body()
        _write_stream(request, response, await api.graph.triples.export_report(syntax))


async def query_by_url(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: a SPARQL query as the parameter `query`.

    SPEC: SPARQL 1.1 Protocol section 2.1.1.
    """
    _check_enabled(api)
    await read_exchange(request).read_body()
    await _answer(api, request, response, _parse_fields(request.query_string))


async def query_by_post(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: a SPARQL query as the body, or as the field `query` of a form.

    SPEC: SPARQL 1.1 Protocol sections 2.1.2 and 2.1.3.
    """
    _check_enabled(api)
    kind = (request.content_type or "").partition(";")[0].strip().lower()
    body = await read_exchange(request).read_body()
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgument("The body is not UTF-8.") from error
    if kind == FORM:
        await _answer(api, request, response, _parse_fields(text))
    elif kind == QUERY_TEXT:
        fields = _parse_fields(request.query_string)
        if "query" in fields:
            raise SparqlInvalid("The query is sent twice: as the body and as a parameter.")
        await _answer(api, request, response, {**fields, "query": [text]})
    elif kind == UPDATE_TEXT:
        raise SparqlInvalid(_READ_ONLY)
    else:
        raise UnsupportedMediaType(f"The Content-Type must be {QUERY_TEXT} or {FORM}.")


_READ_ONLY = "The endpoint is read-only: it takes no update. Write through the API of twins."


async def _answer(
    api: GraphApiContext, request: Request, response: Response, fields: dict[str, list[str]]
) -> None:
    if "update" in fields:
        raise SparqlInvalid(_READ_ONLY)
    texts = fields.get("query", [])
    if len(texts) != 1:
        raise SparqlInvalid(f"There must be one query, not {len(texts)}.")
    triples = api.graph.triples
    query = await triples.parse_query(
        texts[0], fields.get("default-graph-uri", ()), fields.get("named-graph-uri", ())
    )
    syntax = _choose_syntax(request, query.form.syntaxes)
    _write_syntax(response, syntax)
    if not _is_head(api, request, response):
        _write_stream(request, response, await triples.run_query(query, syntax))


def _parse_fields(text: str) -> dict[str, list[str]]:
    try:
        return parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError as error:  # also for invalid UTF-8
        raise InvalidArgument(f"The form cannot be read: {error}.") from error


def _check_enabled(api: GraphApiContext) -> None:
    if not api.graph.triples.is_sparql_enabled:
        raise RouteNotFound("SPARQL is off here; the operator sets Sparql__Enabled=true.")


def _read_content(request: Request) -> Content:
    text = request.get_param("content")
    if text is None:
        return Content.ALL
    names = [one.value for one in Content]
    if text in names:
        return Content(text)
    near = find_nearest(text, names)
    hint = f" Did you mean {near}?" if near else ""
    raise InvalidArgument(f"content must be one of {', '.join(names)}, not {text!a}.{hint}")


def _write_head(response: Response, syntax: Syntax, name: str) -> None:
    _write_syntax(response, syntax)
    response.set_header("content-disposition", f'attachment; filename="{name}.{syntax.suffix}"')


def _is_head(api: GraphApiContext, request: Request, response: Response) -> bool:
    """Return whether the request is HEAD; the head is then written.

    Raises `Unsupported` as GET does.
    """
    if request.method != "HEAD":
        return False
    api.graph.triples.check_support()
    leave_out_stream(response)
    return True


def _write_stream(request: Request, response: Response, stream: ByteStream) -> None:
    response.stream = stream_answer(read_exchange(request), stream)


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
        "GET /export",
        "Graph_Export",
        "The graph as RDF",
        "query/read",
        export_graph,
        Answer(200, "The triples of one state.", str, media_type="text/turtle"),
        "RDF",
        (_CONTENT, _FORMAT),
        errors={400: "InvalidArgument", 406: _NO_FORM, 501: "NotImplemented"},
        is_strict=True,
    ),
    Route(
        "GET /export/shapes",
        "Graph_ExportShapes",
        "SHACL shapes of the models",
        "models/read",
        export_shapes,
        Answer(200, "The shapes.", str, media_type="text/turtle"),
        "RDF",
        (_FORMAT,),
        errors={400: "InvalidArgument", 406: _NO_FORM, 501: "NotImplemented"},
        is_strict=True,
    ),
    Route(
        "GET /export/report",
        "Graph_ExportReport",
        "SHACL validation report of the twins",
        "query/read",
        export_report,
        Answer(200, "The report.", str, media_type="text/turtle"),
        "RDF",
        (_FORMAT,),
        errors={400: "InvalidArgument, TimeoutError", 406: _NO_FORM, 501: "NotImplemented"},
        is_strict=True,
    ),
    Route(
        "GET /sparql",
        "Sparql_QueryByUrl",
        "Run a SPARQL query",
        "query/read",
        query_by_url,
        _RESULT,
        "RDF",
        (_QUERY, *_GRAPHS, _FORMAT),
        errors=_SPARQL_ERRORS,
    ),
    Route(
        "POST /sparql",
        "Sparql_QueryByPost",
        "Run a SPARQL query",
        "query/read",
        query_by_post,
        _RESULT,
        "RDF",
        (*_GRAPHS, _FORMAT),
        Body(str, (QUERY_TEXT, FORM)),
        errors=_SPARQL_ERRORS | {415: "UnsupportedMediaType"},
    ),
)


def _choose_syntax(request: Request, offered: Sequence[Syntax]) -> Syntax:
    """Return the best of `offered`, the first among equals.

    SPEC: RFC 9110 section 12.5.1, with q-values; the most specific range decides about a type.
    Raises `NotAcceptable` naming all media types if none fits, `InvalidArgument` for a wrong
    `format`.
    """
    named = request.get_param("format")
    if named is not None:
        return _find_named(named, offered)
    header = request.get_header("Accept") or "*/*"
    try:
        rated = [
            (max(mediatypes.quality(media_type, header) for media_type in one.media_types), one)
            for one in offered
        ]
    except (InvalidMediaRange, ValueError) as error:
        raise InvalidArgument(f"The Accept header {header!a} cannot be read.") from error
    quality, best = max(rated, key=lambda pair: pair[0])
    if quality <= 0:
        types = ", ".join(media_type for one in offered for media_type in one.media_types)
        raise NotAcceptable(f"The answer cannot be given as {header!a}. It can be: {types}.")
    return best


def _write_syntax(response: Response, syntax: Syntax) -> None:
    """Set Content-Type of the syntax, and Vary."""
    media_type = syntax.media_types[0]
    text = media_type.startswith("text/")
    response.content_type = f"{media_type}; charset=utf-8" if text else media_type
    response.set_header("vary", "Accept")


def _find_named(name: str, offered: Sequence[Syntax]) -> Syntax:
    for one in offered:
        if name.lower() in (one.name, one.suffix, *one.media_types):
            return one
    names = [one.name for one in offered]
    near = find_nearest(name, names)
    hint = f" Did you mean {near}?" if near else ""
    raise InvalidArgument(f"format must be one of {', '.join(names)}, not {name!a}.{hint}")
