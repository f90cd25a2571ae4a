"""Events to a real NATS server: what is stored, told apart, and what happens when it dies."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import nats
import nkeys
import pytest
from pydantic import ValidationError

from tests.waiting import PATIENCE, play
from twinframe.hooks.event_sinks.base import DeliveryFailed, DeliveryRefused, Message
from twinframe_events_nats.plugin import twinframe_event_sink, twinframe_settings
from twinframe_events_nats.settings import NatsSettings
from twinframe_events_nats.sink import NatsSink

TYPE = "Microsoft.DigitalTwins.Twin.Update"


def build_message(key: str = "room1", number: int = 1) -> Message:
    return Message(b'{"n":%d}' % number, key, f"id-{number}", TYPE, "host", key)


def build_sink(server: Any, **more: Any) -> NatsSink:
    settings = {"Servers": [server.url], "Timeout": 60, **more}
    return NatsSink(NatsSettings.model_validate(settings))


async def make_stream(server: Any, *subjects: str) -> None:
    client = await nats.connect(server.url, connect_timeout=PATIENCE)
    await client.jetstream(timeout=PATIENCE).add_stream(name="events", subjects=list(subjects))
    await client.close()


async def read_stream(server: Any, count: int) -> list[Any]:
    client = await nats.connect(server.url, connect_timeout=PATIENCE)
    streams = client.jetstream(timeout=PATIENCE)
    found = await streams.pull_subscribe("", stream="events", durable="test")
    messages: list[Any] = []
    while len(messages) < count:
        messages += await found.fetch(count - len(messages), timeout=120)
    state = (await streams.stream_info("events")).state
    assert state.messages == count
    await client.close()
    return messages


def test_events_are_stored_in_order_under_the_subject_of_their_twin(server: Any) -> None:
    async def scenario() -> None:
        await make_stream(server, "twinframe.>")
        sink = build_sink(server)
        await sink.open()
        for number in range(1, 21):
            await sink.send(build_message(number=number))
        await sink.close()
        messages = await read_stream(server, 20)
        assert [message.data for message in messages] == [b'{"n":%d}' % n for n in range(1, 21)]
        assert {message.subject for message in messages} == {f"twinframe.{TYPE}.room1"}
        assert messages[0].headers["Content-Type"].startswith("application/cloudevents+json")

    play(scenario)


def test_an_event_that_comes_twice_is_stored_once(server: Any) -> None:
    async def scenario() -> None:
        await make_stream(server, "twinframe.>")
        sink = build_sink(server)
        for number in (1, 1, 2, 1):
            await sink.send(build_message(number=number))
        await sink.close()
        assert len(await read_stream(server, 2)) == 2

    play(scenario)


def test_an_id_stays_one_level_of_a_subject_and_out_of_the_headers(server: Any) -> None:
    async def scenario() -> None:
        await make_stream(server, "t.*")
        sink = build_sink(server, Subject="t.{key}")
        odd = Message(b"{}", "a.b *>%\u00e9", "id\r\nX-Evil: 1", TYPE, "host", "")
        await sink.send(odd)
        await sink.close()
        (message,) = await read_stream(server, 1)
        assert message.subject == "t.a%2Eb%20%2A%3E%25\u00e9"
        assert "X-Evil" not in message.headers

    play(scenario)


def test_an_event_larger_than_the_server_takes_is_refused(server: Any) -> None:
    async def scenario() -> None:
        await make_stream(server, "twinframe.>")
        sink = build_sink(server)
        most = 1 << 20
        head = len(
            "NATS/1.0\r\nContent-Type: application/cloudevents+json; charset=utf-8\r\n"
            "Nats-Msg-Id: host/id\r\n\r\n"
        )
        large = Message(b"x" * (most - head + 1), "room1", "id", TYPE, "host", "room1")
        with pytest.raises(DeliveryRefused, match=f"{most + 1} bytes .* than the {most} that"):
            await sink.send(large)
        await sink.send(replace(large, body=large.body[1:]))
        await sink.close()
        assert len(await read_stream(server, 1)) == 1

    play(scenario)


def test_a_subject_that_no_stream_takes_is_tried_again_and_said(server: Any) -> None:
    async def scenario() -> None:
        sink = build_sink(server)
        with pytest.raises(DeliveryFailed, match="No stream of JetStream takes the subject"):
            await sink.send(build_message())
        await sink.close()

    play(scenario)


def test_without_jetstream_events_go_to_who_listens(server: Any) -> None:
    async def scenario() -> None:
        client = await nats.connect(server.url, connect_timeout=PATIENCE)
        found = await client.subscribe("twinframe.>")
        await client.flush()
        sink = build_sink(server, Jetstream=False)
        await sink.send(build_message())
        message = await found.next_msg(timeout=120)
        assert message.data == b'{"n":1}'
        await sink.close()
        await client.close()

    play(scenario)


def test_a_server_that_is_not_there_is_tried_again(make_server: Any) -> None:
    async def scenario() -> None:
        with pytest.raises(DeliveryFailed, match="NATS did not take it"):
            await build_sink(make_server(), Timeout=1).open()

    play(scenario)


async def send_at_last(sink: NatsSink, message: Message) -> None:
    """Send it again until it is taken, as the service does; the stream keeps it once."""
    while True:
        with suppress(DeliveryFailed):
            return await sink.send(message)


def test_a_server_that_died_is_connected_to_again(server: Any) -> None:
    async def scenario() -> None:
        await make_stream(server, "twinframe.>")
        sink = build_sink(server, Timeout=3)
        await send_at_last(sink, build_message())
        await asyncio.to_thread(server.stop)
        with pytest.raises(DeliveryFailed):
            await sink.send(build_message(number=2))
        await asyncio.to_thread(server.start)
        await send_at_last(sink, build_message(number=3))
        await sink.close()
        messages = await read_stream(server, 2)
        assert [message.data for message in messages] == [b'{"n":1}', b'{"n":3}']

    play(scenario)


def test_who_has_no_right_to_connect_is_told_so(make_server: Any) -> None:
    async def scenario() -> None:
        guarded = make_server("--user", "a", "--pass", "b")
        await asyncio.to_thread(guarded.start)
        with pytest.raises(DeliveryFailed, match="uthorization"):
            await build_sink(guarded, Username="a", Password="wrong").open()
        sink = build_sink(guarded, Username="a", Password="b")
        await sink.open()
        await sink.close()

    play(scenario)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Field required"),
        ({"Servers": []}, "at least 1"),
        ({"Servers": ["h:4222"]}, "must be an address"),
        ({"Servers": ["nats://u:p@h"]}, "Username and Password"),
        ({"Servers": ["nats://h"], "Subject": "a.>"}, "must not contain '>'"),
        ({"Servers": ["nats://h"], "Subject": "a..b"}, "empty level"),
        ({"Servers": ["nats://h"], "Subject": "{twin}"}, "knows no"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        NatsSettings.model_validate(settings)


def test_the_plugin_gives_a_sink_for_its_settings() -> None:
    settings = twinframe_settings().model_validate({"Servers": ["nats://h"]})
    assert isinstance(twinframe_event_sink(settings), NatsSink)


def test_a_file_of_credentials_that_cannot_be_read_is_named_to_the_operator_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read(path: str) -> bytes:
        return Path(path).read_bytes()

    async def connect(_client: object, *, user_credentials: str, **_options: object) -> None:
        read(user_credentials)  # as the client does once the server asks for them

    async def close(_client: object) -> None:
        """Nothing was opened."""

    monkeypatch.setattr("nats.aio.client.Client.connect", connect)
    monkeypatch.setattr("nats.aio.client.Client.close", close)
    settings = {"Servers": ["nats://h"], "Credentials": "/none/own.creds"}
    sink = NatsSink(NatsSettings.model_validate(settings))
    with pytest.raises(DeliveryFailed, match=r"/none/own\.creds") as caught:
        asyncio.run(sink.open())
    assert caught.value.public == (
        "The endpoint's Credentials cannot be used: No such file or directory."
    )


def test_authorities_that_cannot_be_read_are_named(make_server: Any) -> None:
    async def scenario() -> None:
        address = make_server().url.replace("nats://", "tls://")
        sink = build_sink(make_server(), Servers=[address], CertificateAuthority="/none/ca.pem")
        with pytest.raises(DeliveryFailed, match=r"CertificateAuthority /none/ca\.pem cannot"):
            await sink.open()

    play(scenario)


def test_what_signs_with_credentials_comes_with_the_plugin() -> None:
    # NOTE: the client imports it only when a server asks for a signature.
    pair = nkeys.from_seed(bytearray(nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_USER)))
    assert pair.verify(b"nonce", pair.sign(b"nonce"))
