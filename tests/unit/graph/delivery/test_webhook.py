"""The webhook sink: what it sends, what it makes of answers, whom it does not trust."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import ValidationError

from tests.unit.quick_loop import QuickLoop
from twinframe.graph.delivery.webhook import WebhookSettings, WebhookSink, read_retry_after
from twinframe.hooks.event_sinks.base import DeliveryFailed, DeliveryRefused, EndpointGone, Message
from twinframe.hooks.event_sinks.trust import build_trust

Answer = Callable[[httpx2.Request], httpx2.Response]

URL = "https://receiver.example/in?code=s3cret"
BODY = b'{"specversion":"1.0"}'
MESSAGE = Message(BODY, "room1", "id-1", "T", "host", "room1")


def allow(_request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, headers={"WebHook-Allowed-Origin": "*"})


class Receiver:
    """Answers requests by its script and remembers them."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.shake: Answer = allow
        self.take: Answer = lambda _request: httpx2.Response(204)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        self.requests.append(request)
        answer = self.shake(request) if request.method == "OPTIONS" else self.take(request)
        if not answer.is_closed:  # it has a stream of its own
            return answer
        body = httpx2.ByteStream(answer.content)  # not read yet, as from a server
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=body)

    def deliver(self, *messages: Message, **settings: Any) -> None:
        made = WebhookSettings.model_validate({"Url": URL, **settings})
        sink = WebhookSink(made, "twins.example", httpx2.MockTransport(self))

        async def play() -> None:
            await sink.open()
            try:
                for message in messages:
                    await sink.send(message)
            finally:
                await sink.close()

        with asyncio.Runner(loop_factory=QuickLoop) as runner:
            runner.run(play())


def test_an_event_is_posted_in_structured_mode() -> None:
    receiver = Receiver()
    receiver.deliver(MESSAGE, Headers={"Authorization": "Bearer t"})
    _, post = receiver.requests
    assert (post.method, str(post.url), post.content) == ("POST", URL, BODY)
    assert post.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert post.headers["authorization"] == "Bearer t"
    assert "webhook-signature" not in post.headers


def test_the_receiver_is_asked_first_whether_it_wants_events() -> None:
    receiver = Receiver()
    receiver.deliver()
    (options,) = receiver.requests
    assert options.method == "OPTIONS"
    assert options.headers["webhook-request-origin"] == "twins.example"
    receiver.shake = lambda _request: httpx2.Response(
        200, headers={"WebHook-Allowed-Origin": "other.example, Twins.Example"}
    )
    receiver.deliver(MESSAGE)


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(200),
        httpx2.Response(404, headers={"WebHook-Allowed-Origin": "*"}),
        httpx2.Response(200, headers={"WebHook-Allowed-Origin": "other.example"}),
        httpx2.Response(302, headers={"Location": "https://other.example/"}),
    ],
)
def test_who_does_not_allow_events_gets_none(answer: httpx2.Response) -> None:
    receiver = Receiver()
    receiver.shake = lambda _request: answer
    with pytest.raises(DeliveryFailed, match="did not allow events") as caught:
        receiver.deliver(MESSAGE)
    assert "s3cret" not in caught.value.message
    assert [request.method for request in receiver.requests] == ["OPTIONS"]
    receiver.deliver(MESSAGE, Handshake=False)
    assert receiver.requests[-1].method == "POST"


@pytest.mark.parametrize("secret", ["plain text", "whsec_" + base64.b64encode(b"k" * 24).decode()])
def test_a_signature_covers_id_time_and_body(secret: str) -> None:
    receiver = Receiver()
    receiver.deliver(MESSAGE, Secret=secret)
    headers = receiver.requests[-1].headers
    key = b"k" * 24 if secret.startswith("whsec_") else secret.encode()
    signed = b"id-1.%b.%b" % (headers["webhook-timestamp"].encode(), BODY)
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-id"] == "id-1"
    assert headers["webhook-signature"] == f"v1,{digest}"


def test_an_odd_message_id_cannot_break_out_of_its_header() -> None:
    receiver = Receiver()
    message = Message(BODY, "k", "id\r\nX-Evil: 1\u00e9", "T", "host", "")
    receiver.deliver(message, Secret="s")
    headers = receiver.requests[-1].headers
    assert "x-evil" not in headers
    assert "\n" not in headers["webhook-id"]


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_success_takes_the_event(status: int) -> None:
    receiver = Receiver()
    receiver.take = lambda _request: httpx2.Response(status, content=b"x" * 200_000)
    receiver.deliver(MESSAGE, MESSAGE)
    assert len(receiver.requests) == 3


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_what_can_never_be_taken_is_refused(status: int) -> None:
    receiver = Receiver()
    receiver.take = lambda _request: httpx2.Response(status)
    with pytest.raises(DeliveryRefused, match=f"https://receiver.example answered {status}"):
        receiver.deliver(MESSAGE)


@pytest.mark.parametrize("status", [301, 302, 307, 401, 403, 404, 408, 409, 425, 429, 500, 503])
def test_other_answers_are_tried_again_and_no_redirect_is_followed(status: int) -> None:
    receiver = Receiver()
    receiver.take = lambda _request: httpx2.Response(
        status, headers={"Location": "http://169.254.169.254/", "Retry-After": "7"}
    )
    with pytest.raises(DeliveryFailed) as caught:
        receiver.deliver(MESSAGE)
    assert caught.value.retry_after == 7
    assert len(receiver.requests) == 2
    assert "s3cret" not in caught.value.message


def test_a_receiver_that_is_gone_says_so_to_an_event_or_when_it_is_asked() -> None:
    receiver = Receiver()
    receiver.take = lambda _request: httpx2.Response(410)
    with pytest.raises(EndpointGone, match=r"https://receiver\.example answered 410"):
        receiver.deliver(MESSAGE)
    receiver.shake = receiver.take
    with pytest.raises(EndpointGone):
        receiver.deliver()


def test_a_receiver_that_is_not_there_or_does_not_answer_is_tried_again() -> None:
    def fail(error: Exception) -> Answer:
        def answer(_request: httpx2.Request) -> httpx2.Response:
            raise error

        return answer

    for error in (
        httpx2.ConnectError("refused"),
        httpx2.ReadTimeout("late"),
        httpx2.RemoteProtocolError("nonsense"),
        ConnectionResetError("reset"),
    ):
        receiver = Receiver()
        receiver.take = fail(error)
        with pytest.raises(DeliveryFailed, match="cannot be reached"):
            receiver.deliver(MESSAGE)


def test_a_receiver_that_never_ends_its_answer_is_given_up_in_time() -> None:
    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            while True:
                await asyncio.sleep(0.01)
                yield b""

    receiver = Receiver()
    receiver.take = lambda _request: httpx2.Response(204, stream=Endless())
    with pytest.raises(DeliveryFailed, match=r"did not answer in 0\.05 s"):
        receiver.deliver(MESSAGE, Timeout=0.05)


def test_the_rate_that_the_receiver_allows_is_kept() -> None:
    receiver = Receiver()
    receiver.shake = lambda _request: httpx2.Response(
        200, headers={"WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "1200"}
    )
    loop_times: list[float] = []

    def take(_request: httpx2.Request) -> httpx2.Response:
        loop_times.append(asyncio.get_running_loop().time())
        return httpx2.Response(204)

    receiver.take = take
    receiver.deliver(MESSAGE, MESSAGE, MESSAGE)
    begun = loop_times[0]
    assert loop_times == pytest.approx([begun, begun + 0.05, begun + 0.1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Field required"),
        ({"Url": "ftp://x.example/"}, "must be an address"),
        ({"Url": "https://user:word@x.example/"}, "without user and password"),
        ({"Url": "http://x.example/"}, "must begin with https"),
        ({"Url": "https://x.example:99999/"}, "that can be asked: Port out of range"),
        ({"Url": "https://\u00fc..example/"}, "that can be asked: Invalid IDNA"),
        ({"Url": "https://[::1/"}, "that can be asked"),
        ({"Url": URL, "Secret": "whsec_"}, "must have a key"),
        ({"Url": "http://192.0.2.1/"}, "must begin with https"),
        ({"Url": URL, "Secret": "whsec_???"}, "must be Base64"),
        ({"Url": URL, "Headers": {"X\r\nY": "1"}}, "no header"),
        ({"Url": URL, "Headers": {"X": "1\r\nY: 2"}}, "no header"),
        ({"Url": URL, "Headers": {"X-N\u00e4me": "1"}}, "no header"),
        ({"Url": URL, "Headers": {"X-Name": "J\u00fcrgen"}}, "of printable ASCII"),
    ],
)
def test_an_address_that_should_not_be_used_is_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        WebhookSettings.model_validate(settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"Url": "http://127.0.0.1:9/"},
        {"Url": "http://[::1]:9/"},
        {"Url": "http://localhost:9/"},
        {"Url": "http://x.example/", "AllowHttp": "true"},
    ],
)
def test_http_is_for_this_machine_or_where_it_is_allowed(settings: dict[str, Any]) -> None:
    assert WebhookSettings.model_validate(settings).url


def test_a_receiver_leaves_no_cookies_behind() -> None:
    receiver = Receiver()
    receiver.take = lambda _request: httpx2.Response(204, headers={"Set-Cookie": "a=b; Path=/"})
    receiver.deliver(MESSAGE, MESSAGE)
    assert [request.headers.get("cookie") for request in receiver.requests] == [None] * 3


def test_what_a_receiver_says_in_the_place_of_an_answer_is_cut_short() -> None:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        raise httpx2.RemoteProtocolError("illegal status line: " + "x" * 100_000)

    receiver = Receiver()
    receiver.take = answer
    with pytest.raises(DeliveryFailed, match="illegal status line") as caught:
        receiver.deliver(MESSAGE)
    assert len(caught.value.message) < 300


def test_who_waits_for_a_connection_is_not_said_to_get_no_answer() -> None:
    asked: list[int] = []

    class Slow(httpx2.AsyncBaseTransport):
        def __init__(self) -> None:
            self.under_way = 0

        async def handle_async_request(self, _request: httpx2.Request) -> httpx2.Response:
            self.under_way += 1
            asked.append(self.under_way)
            await asyncio.sleep(0.01)
            self.under_way -= 1
            headers = {"WebHook-Allowed-Origin": "*"}
            return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(b""))

    async def play() -> None:
        made = WebhookSettings.model_validate({"Url": URL, "MaxConnections": 2})
        sink = WebhookSink(made, "twins.example", Slow())
        await sink.open()
        await asyncio.gather(*(sink.send(MESSAGE) for _ in range(9)))
        await sink.close()

    asyncio.run(play())
    assert (len(asked), max(asked)) == (10, 2)


def test_authorities_that_cannot_be_read_are_named_and_tried_again(tmp_path: Path) -> None:
    missing, odd = tmp_path / "missing.pem", tmp_path / "odd.pem"
    odd.write_text("no certificate")
    for path in (missing, odd):
        with pytest.raises(DeliveryFailed, match=re.escape(f"{path} cannot be used: ")) as caught:
            Receiver().deliver(MESSAGE, CertificateAuthority=str(path))
        assert "CertificateAuthority cannot be used: " in caught.value.public
        assert str(tmp_path) not in caught.value.public
    with pytest.raises(DeliveryFailed, match=re.escape(f"{odd} with Key {missing}")) as caught:
        build_trust("", str(odd), str(missing))
    assert "Certificate cannot be used: " in caught.value.public
    assert str(tmp_path) not in caught.value.public


@pytest.mark.parametrize("rate", ["*", "0", "-1", "²", "9" * 400, "9" * 5000])
def test_a_rate_that_is_no_number_of_requests_is_no_limit(rate: str) -> None:
    receiver = Receiver()
    receiver.shake = lambda _request: httpx2.Response(
        200, headers={"WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": rate.encode()}
    )
    receiver.deliver(MESSAGE, MESSAGE)
    assert len(receiver.requests) == 3


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    assert read_retry_after(httpx2.Headers({"retry-after": "12"})) == 12
    later = read_retry_after(httpx2.Headers({"retry-after": formatdate(4_000_000_000)}))
    assert later is not None
    assert later > 10_000
    for text in ("", "soon", "-5", "Mon, 99 Jan 99999999999999999999 00:00:00 GMT"):
        assert read_retry_after(httpx2.Headers({"retry-after": text})) is None
