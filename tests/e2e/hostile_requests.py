"""Odd requests to every part of a service, each with the one status that it must be answered with.

Framing, tokens, ids and patches have tables of their own; these are what a curious or a malicious
client sends beside them: fields, parameters, queries, models, events, jobs, transactions.
"""

# ruff: noqa: E501 -- tables of odd pieces
from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MODEL: Final = "dtmi:com:example:Odd;1"
MODELS: Final = [
    {"@context": "dtmi:dtdl:context;3", "@id": "dtmi:com:example:Part;1", "@type": "Interface", "contents": [
        {"@type": "Property", "name": "value", "schema": "integer"}]},
    {"@context": "dtmi:dtdl:context;3", "@id": MODEL, "@type": "Interface", "contents": [
        {"@type": "Property", "name": "text", "schema": "string"},
        {"@type": "Property", "name": "map", "schema": {"@type": "Map", "mapKey": {"name": "k", "schema": "string"}, "mapValue": {"name": "v", "schema": "string"}}},
        {"@type": "Component", "name": "part", "schema": "dtmi:com:example:Part;1"},
        {"@type": "Relationship", "name": "to", "properties": [{"@type": "Property", "name": "since", "schema": "date"}]}]},
]  # fmt: skip
TWIN: Final = {"$metadata": {"$model": MODEL}, "text": "a" * 40 + "!", "part": {"$metadata": {}, "value": 1}}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Odd:
    """A request and the status of its answer. `fields` are whole header lines."""

    name: str
    status: int
    method: str
    path: str
    body: Any = None
    fields: str = ""


def list_requests() -> list[Odd]:
    """All of them but those that need files."""
    return [*_QUERIES, *_FIELDS, *_PARAMETERS, *_MODELS, *_TWINS, *_EVENTS, *_MANY, *_SLOTS]


def _query(name: str, status: int, text: str, **parameters: object) -> Odd:
    body = {"query": text, "parameters": parameters} if parameters else {"query": text}
    return Odd(f"query: {name}", status, "POST", "/query", body)


def _text(name: str, path: str, text: str, status: int = 400, method: str = "POST") -> Odd:
    return Odd(f"body: {name}", status, method, path, text.encode())


_QUERIES: Final = (
    _query("an expression that backtracks elsewhere", 200, "MATCH (t) WHERE t.text =~ '(a+)+$' RETURN t"),
    _query("an expression that grows", 400, "MATCH (t) WHERE t.text =~ '(a{1000}){1000}' RETURN t"),
    _query("an expression that is none", 400, "MATCH (t) WHERE t.text =~ '(' RETURN t"),
    _query("a backreference", 400, r"MATCH (t) WHERE t.text =~ '(a)\\1' RETURN t"),
    _query("a list of a thousand million", 400, "RETURN range(0, 1000000000)"),
    _query("a thousand million collected", 400, "UNWIND range(0, 1000000000) AS x RETURN collect(x)"),
    _query("the length of a range of a thousand million", 200, "RETURN size(range(0, 1000000000))"),
    _query("a range without step", 400, "RETURN range(0, 10, 0)"),
    _query("a range over all integers", 200, "RETURN range(-9223372036854775808, 9223372036854775807, 9223372036854775807)"),
    _query("a text that doubles", 400, "RETURN size(reduce(s = 'aaaaaaaa', x IN range(1, 60) | s + s))"),
    _query("a list that doubles", 400, "RETURN size(reduce(s = [1, 2], x IN range(1, 40) | s + s))"),
    _query("a chain of replacements", 400, "WITH 'aaaaaaaaaaaaaaaa' AS a " + "WITH replace(a, 'a', 'aaaaaaaaaaaaaaaa') AS a " * 8 + "RETURN size(a)"),
    _query("a path beyond 64 bits", 400, "MATCH p = (a)-[*1..999999999999999999999]-(b) RETURN count(p)"),
    _query("a path that ends before it begins", 200, "MATCH p = (a)-[*5..1]-(b) RETURN count(p)"),
    _query("a path to itself", 200, "MATCH p = shortestPath((a)-[*]-(a)) RETURN p"),
    _query("SKIP beyond 64 bits", 400, "MATCH (t) RETURN t SKIP 99999999999999999999"),
    _query("SKIP before the start", 400, "MATCH (t) RETURN t SKIP -1"),
    _query("LIMIT by a text", 400, "MATCH (t) RETURN t LIMIT $n", n="x"),
    _query("LIMIT by an integer of 70 bits", 400, "MATCH (t) RETURN t LIMIT $n", n=2**70),
    _query("an integer beyond 64 bits", 400, "RETURN 9223372036854775807 + 1"),
    _query("the least integer by minus one", 400, "RETURN (-9223372036854775807 - 1) / -1"),
    _query("a remainder of nothing", 400, "RETURN 1 % 0"),
    _query("infinity", 200, "RETURN 10 ^ 400, 0.0 / 0.0"),
    _query("5,000 digits", 200, "RETURN toInteger('" + "9" * 5000 + "')"),
    _query("a date that is none", 400, "RETURN date('9999-99-99')"),
    _query("a duration beyond 64 bits", 400, "RETURN duration({years: 999999999999999999})"),
    _query("a date in 273,800,700 years", 200, "RETURN date('9999-12-31') + duration({days: 99999999999})"),
    _query("a time zone that is a path", 400, "RETURN datetime('2020-01-01T00:00:00[../../etc/passwd]')"),
    _query("a time zone in a map that is a path", 400, "RETURN datetime({year: 2020, timezone: '../../../../etc/localtime'})"),
    _query("a text from before its start", 400, "RETURN substring('abc', -1)"),
    _query("elements beyond a list", 200, "RETURN [1, 2][9223372036854775807], [1, 2][-9223372036854775807..9223372036854775807]"),
    _query("20,000 signs", 400, "RETURN " + "-" * 20_001 + "1"),
    _query("15,000 negations", 400, "RETURN " + "NOT " * 15_000 + "true"),
    _query("nested cases", 400, "RETURN " + "CASE WHEN true THEN " * 500 + "1" + " END" * 500),
    _query("6,000 alternatives", 400, "MATCH (t) WHERE " + " OR ".join(["t.a = 1"] * 6000) + " RETURN t"),
    _query("a member of 20,000", 200, "MATCH (t) WHERE t.text IN $x RETURN t", x=list(range(20_000))),
    _query("half of a surrogate pair by escape", 400, r"RETURN '\uD800'"),
    _query("a character beyond all by escape", 400, r"RETURN '\U0011FFFF'"),
    _query("two columns of a name", 400, "RETURN 1 AS a, 2 AS a"),
    _query("columns of odd names", 200, "RETURN 1 AS `__proto__`, 2 AS ``"),
    _query("a write", 400, "MATCH (t) SET t.text = 'x'"),
    _query("a write behind a comment", 400, "MATCH (t) /* RETURN t */ DETACH DELETE t // RETURN"),
    _query("two statements", 400, "RETURN 1; MATCH (t) DELETE t"),
    _query("a file", 400, "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line"),
    _query("a procedure that there is not", 400, "CALL dbms.none()"),
    _query("a procedure's name alone", 400, "CALL dbms.components("),
    _query("the vendor's TOP beyond 64 bits", 200, "SELECT TOP(999999999999999999999) $dtId FROM DIGITALTWINS"),
    _query("the vendor's brackets", 400, "SELECT * FROM DIGITALTWINS T WHERE " + "(" * 5000 + "T.a = 1" + ")" * 5000),
    _query("200 of the vendor's joins", 400, "SELECT T FROM DIGITALTWINS T " + " ".join(f"JOIN A{n} RELATED T.to R{n}" for n in range(200)) + " WHERE T.$dtId = 'room'"),
    _query("the vendor's text without end", 400, "SELECT * FROM DIGITALTWINS T WHERE T.a = '\\"),
    _query("the vendor's hops", 400, "SELECT T FROM DIGITALTWINS MATCH (T)-[:to*1..99999]-(B)"),
)  # fmt: skip

_ETAGS: Final = "If-Match: " + '"a",' * 1500 + "\r\n"
_FIELDS: Final = (
    Odd("field: a page size of 23 digits", 400, "GET", "/models", fields="max-items-per-page: 99999999999999999999999\r\n"),
    Odd("field: a page size of another script", 400, "GET", "/models", fields="max-items-per-page: \xd9\xa5\r\n"),
    Odd("field: a page size that is a superscript", 400, "GET", "/models", fields="max-items-per-page: \xb2\r\n"),
    Odd("field: an etag that is no text", 400, "PATCH", "/digitaltwins/room", [], "If-Match: \xff\xfe\r\n"),
    Odd("field: 1,500 etags and a comma", 400, "PATCH", "/digitaltwins/room", [], _ETAGS),
    Odd("field: two fields of etags", 412, "PATCH", "/digitaltwins/room", [], 'If-Match: "a"\r\nIf-Match: "b"\r\n'),
    Odd("field: an etag not to be there", 400, "PUT", "/digitaltwins/room", TWIN, 'If-None-Match: W/"x"\r\n'),
    Odd("field: what is and is not there", 412, "PUT", "/digitaltwins/room", TWIN, "If-Match: *\r\nIf-None-Match: *\r\n"),
    Odd("field: a media type of odd bytes", 200, "GET", "/digitaltwins/room", fields="Accept: \xff/\xff;q=a, */*;q=999e999\r\n"),
    Odd("field: a media type that is none", 400, "GET", "/export", fields="Accept: ;;;,,,q=1\r\n"),
    Odd("field: ranges that are none", 200, "GET", "/swagger/assets/swagger-ui.css", fields="Range: bytes=5-1,9999999999999999999-\r\nIf-Modified-Since: x\r\n"),
    Odd("field: a trace of nothing", 200, "GET", "/models", fields="traceparent: 00-" + "0" * 32 + "-" + "0" * 16 + "-01\r\ntracestate: " + "a=b," * 500 + "\r\n"),
    Odd("field: another method in disguise", 405, "POST", "/models/x", fields="X-HTTP-Method-Override: DELETE\r\n"),
    Odd("field: who it was forwarded for", 200, "GET", "/models", fields='X-Forwarded-For: \xff, 1.2.3.4.5\r\nX-Forwarded-Proto: javascript\r\nForwarded: for="[x\r\n'),
    Odd("field: a prefix that is a host", 200, "GET", "/models", fields="X-Forwarded-Prefix: //evil\r\n"),
    Odd("field: 1,000 cookies", 200, "GET", "/models", fields="Cookie: " + "a=b;" * 1000 + "\r\n"),
    Odd("field: an upgrade to HTTP/2", 200, "GET", "/models", fields="Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"),
    Odd("field: an odd origin asks for leave", 204, "OPTIONS", "/digitaltwins/room", fields="Origin: \xff\r\nAccess-Control-Request-Method: X\r\n"),
    Odd("field: the time of a message is none", 204, "POST", "/digitaltwins/room/telemetry", {"a": 1}, "Telemetry-Source-Time: 99999-13-45T99:99:99Z\r\n"),
    Odd("field: the id of a message is no text", 204, "POST", "/digitaltwins/room/telemetry", {"a": 1}, "Message-Id: \xff\xfe\r\n"),
)  # fmt: skip

_PARAMETERS: Final = (
    Odd("parameter: bytes that are no text", 400, "GET", "/models?continuationToken=%ff%fe"),
    Odd("parameter: NUL", 400, "GET", "/digitaltwins/room/relationships?relationshipName=%00"),
    Odd("parameter: half of a surrogate pair", 400, "GET", "/digitaltwins/room/relationships?relationshipName=%ED%A0%80"),
    Odd("parameter: a token of another kind", 400, "GET", "/models?continuationToken=" + "e30" * 100),
    Odd("parameter: two tokens", 400, "GET", "/models?continuationToken=a&continuationToken=b"),
    Odd("parameter: 40 models that are none", 404, "GET", "/models?" + "&".join(f"dependenciesFor=dtmi:x:a{n};1" for n in range(40))),
    Odd("parameter: a picture for yes or no", 400, "GET", "/models?includeModelDefinition=%F0%9F%98%80"),
    Odd("parameter: a syntax that is a path", 400, "GET", "/export?format=../../x"),
    Odd("parameter: minutes with an exponent", 400, "POST", "/jobs/deletions?timeoutInMinutes=1e9"),
    Odd("parameter: 600 of them", 200, "GET", "/models?" + "a=b&" * 600),
)  # fmt: skip


def _model(name: str, status: int, at: int, **members: object) -> Odd:
    document = {"@context": "dtmi:dtdl:context;3", "@id": f"dtmi:x:M{at};1", "@type": "Interface"}
    return Odd(f"model: {name}", status, "POST", "/models", [{**document, **members}])


_ARRAYS: Final = json.loads('{"@type":"Array","elementSchema":' * 60 + '"string"' + "}" * 60)
_SELF: Final = {"@id": "dtmi:x:S;1", "@type": "Object", "fields": [{"name": "f", "schema": "dtmi:x:S;1"}]}  # fmt: skip
_MODELS: Final = (
    _model("of itself", 400, 1, extends="dtmi:x:M1;1"),
    _model("60 arrays in each other", 400, 2, contents=[{"@type": "Property", "name": "p", "schema": _ARRAYS}]),
    _model("odd names", 400, 3, contents=[{"@type": "Property", "name": name, "schema": "string"} for name in ("$dtId", "__proto__", "", None, 5, "a" * 600)]),
    _model("odd texts", 400, 4, displayName={"xx-invalid": 5, "en": None}, description=["a"]),
    _model("a schema of itself", 400, 5, schemas=[_SELF], contents=[{"@type": "Property", "name": "p", "schema": "dtmi:x:S;1"}]),
    _model("odd types", 400, 6, contents=[{"@type": ["Property", 5, {}], "name": "p", "schema": "double", "unit": ["degreeCelsius"]}]),
    _model("a version of 300 digits", 400, 7, **{"@id": "dtmi:x:A;" + "9" * 300}),
    _model("an id that is a list", 400, 8, **{"@id": ["dtmi:x:A;1"]}),
    _model("a context of its own", 400, 9, **{"@context": ["dtmi:dtdl:context;3", {"a": 1}, 5, None]}),
    _model("a context to be fetched", 400, 10, **{"@context": "http://127.0.0.1/ctx"}),
    Odd("model: things that are none", 400, "POST", "/models", [None, 5, [], "x"]),
    Odd("model: no list", 400, "POST", "/models", {"a": 1}),
    Odd("model: decommissioned by a text", 400, "PATCH", f"/models/{MODEL}", [{"op": "replace", "path": "/decommissioned", "value": "yes"}]),
    Odd("model: a chain of 200", 400, "POST", "/models", [{"@context": "dtmi:dtdl:context;3", "@id": f"dtmi:x:L{n};1", "@type": "Interface", "extends": [f"dtmi:x:L{m};1" for m in range(max(0, n - 3), n)]} for n in range(200)]),
)  # fmt: skip

_TWINS: Final = (
    Odd("twin: metadata that is a number", 400, "PUT", "/digitaltwins/x", {"$metadata": 5}),
    Odd("twin: a model that is a list", 400, "PUT", "/digitaltwins/x", {"$metadata": {"$model": ["a"]}}),
    Odd("twin: a component that is a list", 400, "PUT", "/digitaltwins/x", {**TWIN, "part": [1]}),
    Odd("twin: a key of 5,000", 200, "PUT", "/digitaltwins/x", {**TWIN, "map": {"k" * 5000: "v"}}),
    _text("a key with NUL", "/digitaltwins/x", '{"map":{"\\u0000":"a"}}', method="PUT"),
    _text("metadata twice", "/digitaltwins/x", '{"$metadata":{"$model":"x"},"\\u0024metadata":{}}', method="PUT"),
    Odd("twin: an id that is no character", 400, "PUT", "/digitaltwins/%EF%BF%BF", TWIN),
    Odd("twin: an id with a path's parameter", 404, "GET", "/digitaltwins/a;b=c/relationships"),
    Odd("twin: an id encoded twice", 404, "GET", "/digitaltwins/%252e%252e%252f"),
    Odd("twin: of itself", 400, "PUT", "/digitaltwins/room/relationships/e", {"$relationshipName": "to", "$targetId": "room"}),
    Odd("twin: a relationship of other types", 400, "PUT", "/digitaltwins/room/relationships/e", {"$relationshipName": ["to"], "$targetId": {"a": 1}}),
    Odd("twin: a date in 98,000 years", 400, "PUT", "/digitaltwins/room/relationships/e", {"$relationshipName": "to", "$targetId": "hall", "since": "99999-01-01"}),
    Odd("patch: an operation that is a list", 400, "PATCH", "/digitaltwins/room", [{"op": ["add"], "path": "/text", "value": 1}]),
    Odd("patch: a model that is an object", 400, "PATCH", "/digitaltwins/room", [{"op": "replace", "path": "/$metadata/$model", "value": {"a": 1}}]),
    Odd("patch: the time of a part", 400, "PATCH", "/digitaltwins/room", [{"op": "add", "path": "/part/$metadata/value", "value": 1}]),
    Odd("patch: a time in 10,000,000 years", 400, "PATCH", "/digitaltwins/room", [{"op": "add", "path": "/$metadata/text/sourceTime", "value": "9999999-01-01"}]),
    Odd("patch: a whole component", 400, "PATCH", "/digitaltwins/room/components/part", [{"op": "add", "path": "", "value": 1}]),
    _text("a message with no number", "/digitaltwins/room/telemetry", '{"a":NaN}'),
    _text("a message 300 deep", "/digitaltwins/room/telemetry", '{"a":' + "[" * 300 + "]" * 300 + "}"),
    _text("a message with a large number", "/digitaltwins/room/telemetry", '{"a":1e400}'),
)  # fmt: skip

_ROUTE: Final = {"endpointName": "lines", "filter": "true"}
_EVENTS: Final = (
    Odd("events: a filter that is no text", 400, "GET", "/events?filter=%00%ff"),
    Odd("events: a filter of brackets", 400, "GET", "/events?filter=" + "(" * 1500),
    Odd("events: a filter of 50,000 brackets", 400, "POST", "/events/try", {"filter": "(" * 50_000, "event": {}}),
    Odd("events: a filter of negations", 400, "POST", "/events/try", {"filter": "NOT " * 15_000 + "true"}),
    _text("nothing to try", "/events/try", "null"),
    Odd("events: a route named by dots", 400, "PUT", "/eventroutes/%2e%2e", _ROUTE),
    Odd("events: a route of 5,000 alternatives", 400, "PUT", "/eventroutes/r", {**_ROUTE, "filter": " OR ".join(["type = 'x'"] * 5000)}),
    Odd("events: a route of other types", 400, "PUT", "/eventroutes/r", {"endpointName": 5, "filter": ["a"]}),
    Odd("events: dead letters by an odd token", 400, "GET", "/eventroutes/route/deadletters?continuationToken=zzz"),
)  # fmt: skip

_MANY: Final = (
    _text("arrays 2,000 deep", "/digitaltwins", "[" * 2000 + "]" * 2000),
    Odd("many: 3,000 twins", 400, "POST", "/digitaltwins", [{}] * 3000),
    Odd("many: nothing among them", 200, "POST", "/relationships", [None]),
    Odd("many: 2,000 operations", 400, "POST", "/$transaction", {"operations": [{"op": "putTwin"}] * 2000}),
    Odd("many: operations that are no list", 400, "POST", "/$transaction", {"operations": {"op": "x"}}),
    Odd("many: an etag with NUL", 400, "POST", "/$transaction", {"operations": [{"op": "deleteTwin", "twinId": "room", "ifMatch": "\0"}]}),
)  # fmt: skip

_SLOTS: Final = (
    Odd("place: above the assets", 404, "GET", "/swagger/assets/..%2f..%2f..%2fetc%2fpasswd"),
    Odd("place: an asset with NUL", 400, "GET", "/swagger/assets/a%00.css"),
    Odd("place: an asset of dots", 404, "GET", "/swagger/assets/...."),
    Odd("place: two slashes", 404, "GET", "/api//digitaltwins/room"),
    Odd("place: the base path twice", 404, "GET", "/api/api/models"),
    Odd("place: one up", 400, "GET", "/digitaltwins/../models"),
    Odd("place: no id", 404, "GET", "/digitaltwins//relationships"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OddJob:
    """Where an import reads and writes; `refused` says that it is not even made."""

    name: str
    source: str
    log: str
    refused: bool = True


def list_jobs(files: Path) -> list[OddJob]:
    """Imports by odd addresses, and of the odd files that `write_files` made in `files`."""
    here = files.as_uri()
    log = f"{here}/log.ndjson"
    return [
        OddJob("a file of the system", "file:///etc/passwd", log),
        OddJob("a log of the system", f"{here}/deep", "file:///etc/x"),
        OddJob("one that leads out", f"{here}/../../../../../etc/passwd", log),
        OddJob("NUL", f"{here}/a%00b", log),
        OddJob("a file of another host", f"file://evil{files}/deep", log),
        OddJob("half an address", "http://[::1", log),
        OddJob("a port beyond all", "http://127.0.0.1:99999999/x", log),
        OddJob("digits in circles", "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/x", log),
        OddJob("a script", "javascript:alert(1)", log),
        OddJob("its own log", f"{here}/deep", f"{here}/deep"),
        OddJob("a folder", here, log, refused=False),
        OddJob("nothing", f"{here}/nothing", log, refused=False),
        OddJob("random bytes", f"{here}/bytes", log, refused=False),
        OddJob("half a gzip stream", f"{here}/half.gz", log, refused=False),
        OddJob("deep lines and other ones", f"{here}/deep", log, refused=False),
        OddJob("a line of 9 MB", f"{here}/long", log, refused=False),
        OddJob("a pipe", f"{here}/pipe", log, refused=False),
    ]
