"""Rows of hostile input against a running service: what is sent, and what must come of it.

Framing, tokens, ids, patches, query texts and places of imports have tables of their own in the
tests; these are the rows that need a whole service and stand nowhere else.
"""

# ruff: noqa: E501 -- tables of odd pieces
from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from tests.reliability.traffic import Line, read_field

MODEL: Final = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Text;1",
    "@type": "Interface",
    "contents": [
        {"@type": "Property", "name": "text", "schema": "string"},
        {"@type": "Property", "name": "number", "schema": "long"},
        {"@type": "Property", "name": "map", "schema": {"@type": "Map",
            "mapKey": {"name": "k", "schema": "string"},
            "mapValue": {"name": "v", "schema": "string"}}},
    ],
}  # fmt: skip
META: Final = {"$metadata": {"$model": MODEL["@id"]}}
TEXTS: Final = (
    "'", '"', "\\", ";", "--", "/* */", ")", ">", "}", "#", "\\u0027", "?x", "$1", "{{x}}", "' OR 1=1 --",
    "'); DROP TABLE twin; --", "\\'", "`", "${x}", "%s", "%", "_", "\u202e", "e\u0301", "\U0001f3e2",
    "a\nb", "a\r\nb", "\t", "<script>", "} UNION { ?s ?p ?o", "\u2028", "NULL", "true", "1e999", "$dtId",
)  # fmt: skip
KEYS: Final = ("__proto__", "constructor", "a.b", "$x", "~0", "a/b", "a b", "'", '"')
NUMBERS: Final = ("1e999", "NaN", "Infinity", "-Infinity", "9223372036854775808", "1.5", '"1"',
                  "18446744073709551616", "9" * 5000, "01", "+1", "0x10", "1_000", "true")  # fmt: skip
ECHOED: Final = ("traceparent", "x-ms-client-request-id", "If-Match", "If-None-Match", "Origin",
                 "Message-Id", "max-items-per-page")  # fmt: skip

Check = Callable[[Line], bool]


@dataclass(frozen=True, slots=True)
class Row:
    """One named input and whether the service does with it what it must."""

    name: str
    holds: Check


def list_rows() -> list[Row]:
    """All of them."""
    return [*_list_texts(), *_list_keys(), *_list_numbers(), *_list_fields(), *_list_bombs()]


def run_row(row: Row, port: int) -> tuple[bool, float]:
    """Whether it holds, and how many seconds it took."""
    line = Line(port, timeout=20)
    start = time.monotonic()
    try:
        return row.holds(line), time.monotonic() - start
    except (OSError, ValueError, KeyError):
        return False, time.monotonic() - start
    finally:
        line.close()


def _put(line: Line, twin: str, **members: object) -> int:
    return line.call("PUT", f"/digitaltwins/{twin}", META | members)[0]


def _ask(line: Line, text: str, **parameters: object) -> tuple[int, list[dict[str, object]]]:
    body = {"query": text, "parameters": parameters} if parameters else {"query": text}
    status, _, answer = line.call("POST", "/query", body)
    return status, json.loads(answer).get("value", [])


def _list_texts() -> Iterator[Row]:
    for number, text in enumerate(TEXTS):
        yield Row(f"value {text!a} is stored as it is", _keep_text(f"v{number}", text))
        yield Row(f"parameter {text!a} finds its twin alone", _find_parameter(f"v{number}", text))
        yield Row(f"literal {text!a} finds its twin alone", _find_literal(f"v{number}", text))
        yield Row(f"vendor's literal {text!a} finds its twin", _find_vendor(f"v{number}", text))
        yield Row(f"label {text!a} matches nothing or is refused", _ask_label(text))


def _keep_text(twin: str, text: str) -> Check:
    def check(line: Line) -> bool:
        if _put(line, twin, text=text) != 200:
            return False
        return bool(json.loads(line.call("GET", f"/digitaltwins/{twin}")[2])["text"] == text)

    return check


def _find_parameter(twin: str, text: str) -> Check:
    query = "MATCH (t:Text) WHERE t.text = $x RETURN t.`$dtId` AS id"
    return lambda line: _ask(line, query, x=text) == (200, [{"id": twin}])


def _find_literal(twin: str, text: str) -> Check:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    query = f"MATCH (t:Text) WHERE t.text = '{escaped}' RETURN t.`$dtId` AS id"
    return lambda line: _ask(line, query) == (200, [{"id": twin}])


def _find_vendor(twin: str, text: str) -> Check:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    query = f"SELECT $dtId FROM DIGITALTWINS t WHERE t.text = '{escaped}'"
    return lambda line: _ask(line, query) == (200, [{"$dtId": twin}])


def _ask_label(text: str) -> Check:
    escaped = text.replace("`", "``")
    query = f"MATCH (t:`{escaped}`) RETURN count(*) AS n"
    return lambda line: _ask(line, query) in [(200, [{"n": 0}]), (400, [])]


def _list_keys() -> Iterator[Row]:
    for number, key in enumerate(KEYS):

        def check(line: Line, key: str = key, number: int = number) -> bool:
            status = _put(line, f"k{number}", map={key: "v"})
            if status == 400:
                return True
            stored = json.loads(line.call("GET", f"/digitaltwins/k{number}")[2])
            return bool(status == 200 and stored["map"] == {key: "v"})

        yield Row(f"map key {key!a} is stored or refused", check)


def _list_numbers() -> Iterator[Row]:
    for number in NUMBERS:
        body = b'{"$metadata":{"$model":"dtmi:com:example:Text;1"},"number":%b}' % number.encode()

        def check(line: Line, body: bytes = body) -> bool:
            return line.call("PUT", "/digitaltwins/n", body)[0] == 400

        yield Row(f"number {number[:30]} is no long", check)
    for number in ("-0", "1.0", "9223372036854775807"):
        body = b'{"$metadata":{"$model":"dtmi:com:example:Text;1"},"number":%b}' % number.encode()

        def take(line: Line, body: bytes = body) -> bool:
            return line.call("PUT", "/digitaltwins/n", body)[0] in (200, 400)

        yield Row(f"number {number} has a rule", take)


def _list_fields() -> Iterator[Row]:
    for name in ECHOED:
        for value in ("a\tb", "\xe9\xff", "x" * 7000, '"', "'; --", "%0d%0aX-Evil: 1"):

            def check(line: Line, name: str = name, value: str = value) -> bool:
                status, head, _ = line.call(
                    "GET", "/digitaltwins/v0", fields=f"{name}: {value}\r\n"
                )
                return status < 500 and read_field(head, "x-evil") == ""

            yield Row(f"field {name} of {value[:12]!a} does no harm", check)


def _list_bombs() -> Iterator[Row]:
    copies = [{"op": "copy", "from": "/map", "path": f"/map/{n}"} for n in range(40)]
    bombs: dict[str, object] = {
        "copies that double": copies,
        "a thousand and one operations": [{"op": "remove", "path": "/text"}] * 1001,
        "a path of 100,000 parts": [{"op": "add", "path": "/a" * 100_000, "value": 1}],
        "a move into its own child": [{"op": "move", "from": "/map", "path": "/map/x"}],
        "the root": [{"op": "replace", "path": "", "value": {}}],
        "an id": [{"op": "replace", "path": "/$dtId", "value": "x"}],
        "an etag": [{"op": "replace", "path": "/$etag", "value": "x"}],
        "all metadata": [{"op": "remove", "path": "/$metadata"}],
        "no operation": [{"path": "/text"}],
        "a text of a patch": '[{"op":"remove","path":"/text"}]',
    }
    for name, patch in bombs.items():

        def check(line: Line, patch: object = patch) -> bool:
            before = line.call("GET", "/digitaltwins/v0")[2]
            status = line.call("PATCH", "/digitaltwins/v0", patch)[0]
            return status in (400, 413) and line.call("GET", "/digitaltwins/v0")[2] == before

        yield Row(f"patch: {name}", check)
    for depth in (65, 1025, 100_000):

        def deep(line: Line, depth: int = depth) -> bool:
            body = b'{"a":' * depth + b"1" + b"}" * depth
            return line.call("PUT", "/digitaltwins/deep", body)[0] in (400, 413)

        yield Row(f"JSON {depth} deep", deep)
    for segment in ("%00", "%0d%0a", "%FF", "%C0%AF", "%ED%A0%80", "%zz", "%", quote("\ufffd")):

        def odd(line: Line, segment: str = segment) -> bool:
            return line.call("GET", f"/digitaltwins/{segment}")[0] == 400

        yield Row(f"id {segment}", odd)
