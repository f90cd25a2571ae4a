"""Hostile HTTP framing against a real server: each row is refused as the table says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

GET = b"GET /digitaltwins/room-1 HTTP/1.1\r\nHost: a\r\n\r\n"
PUT = b"PUT /digitaltwins/x HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
CHUNKED = PUT + b"Transfer-Encoding: chunked\r\n"
OPEN = b"<open>"


@pytest.fixture(scope="module")
def server(launch: Callable[..., Any]) -> Any:
    times = {"BodyTimeout": 5, "HeaderTimeout": 600, "IdleTimeout": 600}  # none closes by itself
    return launch(
        MaxBodyBytes=20_000, MaxUrlBytes=2000, MaxHeaderBytes=8000, MaxHeaderCount=20, **times
    )


def read_statuses(answer: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", answer)]


REFUSED: list[tuple[str, bytes, set[int]]] = [
    # the length of the body
    ("CL and TE", CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n" + GET, {400}),
    ("TE and CL", PUT + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
    ("two equal CL", PUT + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" + GET, {400}),
    ("two CL", PUT + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" + GET, {400}),
    ("CL list", PUT + b"Content-Length: 2, 2\r\n\r\n{}" + GET, {400}),
    ("CL +2", PUT + b"Content-Length: +2\r\n\r\n{}" + GET, {400}),
    ("CL -1", PUT + b"Content-Length: -1\r\n\r\n{}" + GET, {400}),
    ("CL hexadecimal", PUT + b"Content-Length: 0x2\r\n\r\n{}" + GET, {400}),
    ("CL empty", PUT + b"Content-Length: \r\n\r\n{}" + GET, {400}),
    ("CL of 20 digits", PUT + b"Content-Length: 99999999999999999999\r\n\r\n{}", {400}),
    ("CL before colon", PUT + b"Content-Length : 2\r\n\r\n{}" + GET, {400}),
    ("CL 10 GB", PUT + b"Content-Length: 10000000000\r\n\r\n", {413}),
    (
        "CL 10 GB expecting",
        PUT + b"Expect: 100-continue\r\nContent-Length: 10000000000\r\n\r\n",
        {413},
    ),
    # transfer codings
    ("TE xchunked", PUT + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + GET, {400}),
    ("TE identity", PUT + b"Transfer-Encoding: identity\r\n\r\n" + GET, {400}),
    ("TE list", PUT + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + GET, {400}),
    ("TE gzip, chunked", PUT + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + GET, {400}),
    ("TE with vtab", PUT + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + GET, {400}),
    ("TE twice", CHUNKED + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GET, {400}),
    ("TE in 1.0", CHUNKED.replace(b"1.1", b"1.0") + b"\r\n0\r\n\r\n" + GET, {400}),
    # chunks
    ("chunk size 0x2", CHUNKED + b"\r\n0x2\r\n{}\r\n0\r\n\r\n" + GET, {400}),
    ("chunk size -2", CHUNKED + b"\r\n-2\r\n{}\r\n0\r\n\r\n" + GET, {400}),
    ("chunk size 17 F", CHUNKED + b"\r\n" + b"F" * 17 + b"\r\n{}\r\n0\r\n\r\n", {400, 413}),
    ("chunk size with bare LF", CHUNKED + b"\r\n2\n{}\r\n0\r\n\r\n" + GET, {400}),
    ("chunk longer than its size", CHUNKED + b"\r\n2\r\n{}{}\r\n0\r\n\r\n" + GET, {400}),
    ("LF in a chunk extension", CHUNKED + b"\r\n2;a\nb\r\n{}\r\n0\r\n\r\n" + GET, {400}),
    ("a trailer", CHUNKED + b"\r\n2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n" + GET, {400}),
    (
        "chunks beyond the limit",
        CHUNKED + b"\r\n" + (b"1000\r\n" + b" " * 4096 + b"\r\n") * 6,
        {413},
    ),
    ("chunk extensions", CHUNKED + b"\r\n2;" + b"x" * 300_000 + b"\r\n{}\r\n", {400}),
    ("one-byte chunks", CHUNKED + b"\r\n" + b"1;aaaaaaaaaaaaaaaaaaaaaaaa\r\n \r\n" * 9000, {400}),
    # the head
    ("bare LF", b"GET /models HTTP/1.1\nHost: a\n\n", {400}),
    ("bare CR", b"GET /models HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", {400}),
    ("NUL in a value", b"GET /models HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", {400}),
    ("obs-fold", b"GET /models HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", {400}),
    ("space in a name", b"GET /models HTTP/1.1\r\nHost: a\r\nX y: a\r\n\r\n", {400}),
    ("empty name", b"GET /models HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n", {400}),
    ("no Host", b"GET /models HTTP/1.1\r\n\r\n", {400}),
    ("two Hosts", b"GET /models HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", {400}),
    ("a Host that is none", b'GET /models HTTP/1.1\r\nHost: a/b"\r\n\r\n', {400}),
    ("HTTP/0.9", b"GET /models\r\n\r\n", {400, 505}),
    ("HTTP/1.2", b"GET /models HTTP/1.2\r\nHost: a\r\n\r\n", {400, 505}),
    ("HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 505}),
    ("a TLS hello", bytes.fromhex("160301020001000 1fc0303".replace(" ", "")) + b"\0" * 80, {400}),
    ("random bytes", bytes(range(128, 256)), {400}),
    ("unknown method", b"BREW /models HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    ("CONNECT", b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", {400, 405}),
    ("space in the target", b"GET /mod els HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    ("raw UTF-8 in the target", b"GET /mod\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    ("long target", b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", {414}),
    ("unending target", b"GET /" + b"a" * 300_000, {414}),
    ("large head", b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"a" * 9000 + b"\r\n\r\n", {431}),
    ("unending head", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 300_000, {431}),
    ("many fields", b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: a\r\n" * 30 + b"\r\n", {431}),
]


@pytest.mark.parametrize(
    ("data", "statuses"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_a_malformed_request_is_refused_and_its_connection_closed(
    server: Any, data: bytes, statuses: set[int]
) -> None:
    answer = server.send(data, answers=math.inf)
    assert len(read_statuses(answer)) == 1, answer
    assert read_statuses(answer)[0] in statuses
    assert not answer.endswith(OPEN)
    assert b"connection: close" in answer
    assert b'{"error":{"code":"' in answer


SERVED: list[tuple[str, bytes, list[int]]] = [
    ("two in one piece", GET + GET, [200, 200]),
    ("absolute form", GET.replace(b" /digital", b" http://a/digital"), [200]),
    ("OPTIONS *", b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", [404]),
    ("TRACE", b"TRACE /models HTTP/1.1\r\nHost: a\r\n\r\n", [405]),
    ("a method of WebDAV", b"PROPFIND /models HTTP/1.1\r\nHost: a\r\n\r\n", [405]),
    ("chunked", CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\r\n" + GET, [200, 200]),
    ("Host with port", GET.replace(b"Host: a", b"Host: [::1]:8080"), [200]),
    (
        "an upgrade that is not taken",
        GET[:-2] + b"Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        [200],
    ),
    ("gzip", PUT + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", [415]),
    ("a field in any case", GET.replace(b"Host", b"hOST"), [200]),
]


@pytest.mark.parametrize(("data", "statuses"), [r[1:] for r in SERVED], ids=[r[0] for r in SERVED])
def test_a_well_formed_request_is_served(server: Any, data: bytes, statuses: list[int]) -> None:
    assert read_statuses(server.send(data, answers=len(statuses))) == statuses


def test_an_answer_that_was_asked_for_first_comes_before_the_refusal(server: Any) -> None:
    slow = b'{"query":"slow"}'
    ask = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(slow), slow)
    answer = server.send(ask + b"GARBAGE\r\n\r\n", answers=math.inf)
    assert read_statuses(answer) == [200, 400]
    assert not answer.endswith(OPEN)


def test_a_thousand_pipelined_requests_are_answered_in_order(server: Any) -> None:
    ids = [b"t%d" % number for number in range(1000)]
    data = b"".join(b"GET /digitaltwins/%b HTTP/1.1\r\nHost: a\r\n\r\n" % name for name in ids)
    answer = server.send(data, answers=1000)
    assert read_statuses(answer) == [404] * 1000
    places = [answer.index(b"ID %b." % name) for name in ids]
    assert places == sorted(places)


def test_more_pipelined_requests_than_may_wait_are_read_later_and_answered_in_order(
    server: Any,
) -> None:
    ask = b'{"query":"slow"}'
    first = b"POST /query HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(ask), ask)
    ids = [b"t%d" % number for number in range(1500)]
    put = PUT.replace(b"/x", b"/later") + b"Content-Length: 3000\r\n\r\n{" + b" " * 2998 + b"}"
    many = b"".join(b"GET /digitaltwins/%b HTTP/1.1\r\nHost: a\r\n\r\n" % name for name in ids)
    answer = server.send(first + many + put + many, answers=3002)
    assert read_statuses(answer) == [200, *[404] * 1500, 200, *[404] * 1500]
    places = [answer.index(b"ID %b." % name) for name in ids]
    assert places == sorted(places)


def test_a_body_shorter_than_declared_writes_nothing(server: Any) -> None:
    with server.connect() as connection:
        connection.sendall(PUT.replace(b"/x", b"/short") + b"Content-Length: 100\r\n\r\n{}")
    found = server.send(b"GET /digitaltwins/short HTTP/1.1\r\nHost: a\r\n\r\n")
    assert read_statuses(found) == [404]


def test_a_body_is_asked_for_only_after_its_head_was_accepted(server: Any) -> None:
    expecting = b"Expect: 100-continue\r\nContent-Length: 2\r\n"
    with server.connect() as connection:
        connection.sendall(PUT + expecting + b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"{}")
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
    wrong = PUT.replace(b"application/json", b"text/plain") + expecting + b"\r\n"
    assert read_statuses(server.send(wrong))[0] == 415


def test_a_worker_survives_all_of_this(server: Any) -> None:
    assert read_statuses(server.send(GET)) == [200]
    assert server.process.poll() is None
