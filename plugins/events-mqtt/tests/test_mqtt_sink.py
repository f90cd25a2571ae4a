"""Events to a real MQTT broker: what arrives, what is acknowledged, what happens when it dies."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from pydantic import ValidationError

from tests.waiting import PATIENCE
from twinframe.hooks.event_sinks.base import DeliveryFailed, DeliveryRefused, Message
from twinframe_events_mqtt.plugin import twinframe_event_sink, twinframe_settings
from twinframe_events_mqtt.settings import MqttSettings
from twinframe_events_mqtt.sink import MqttSink

TYPE = "Microsoft.DigitalTwins.Twin.Update"


def build_message(key: str = "room1", number: int = 1) -> Message:
    return Message(b'{"n":%d}' % number, key, f"id-{number}", TYPE, "host", key)


def build_sink(port: int, **more: Any) -> MqttSink:
    settings = {"Host": "127.0.0.1", "Port": port, "Tls": False, "Timeout": 60, **more}
    return MqttSink(MqttSettings.model_validate(settings))


@contextmanager
def subscribed(port: int) -> Iterator[queue.Queue[paho.MQTTMessage]]:
    """What is published from now on."""
    found: queue.Queue[paho.MQTTMessage] = queue.Queue()
    ready = queue.Queue[bool]()
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.on_message = lambda _client, _data, message: found.put(message)
    client.on_subscribe = lambda *_rest: ready.put(True)
    client.connect_timeout = PATIENCE
    client.connect("127.0.0.1", port)
    client.loop_start()
    client.subscribe("#", qos=1)
    ready.get(timeout=120)
    try:
        yield found
    finally:
        client.disconnect()
        client.loop_stop()


def deliver(sink: MqttSink, *messages: Message) -> None:
    async def play() -> None:
        await sink.open()
        try:
            await asyncio.gather(*(sink.send(message) for message in messages))
        finally:
            await sink.close()

    asyncio.run(play())


def test_events_arrive_as_cloudevents_at_the_topic_of_their_twin(broker: Any) -> None:
    with subscribed(broker.port) as found:
        deliver(build_sink(broker.port), *(build_message(number=n) for n in range(1, 31)))
        arrived = [found.get(timeout=120) for _ in range(30)]
    assert [bytes(message.payload) for message in arrived] == [
        b'{"n":%d}' % number for number in range(1, 31)
    ]
    assert {message.topic for message in arrived} == {f"twinframe/{TYPE}/room1"}
    assert arrived[0].properties is not None
    kind = arrived[0].properties.ContentType
    assert kind == "application/cloudevents+json; charset=utf-8"


def test_an_id_stays_one_level_of_a_topic(broker: Any) -> None:
    with subscribed(broker.port) as found:
        deliver(build_sink(broker.port, Topic="t/{key}/{subject}"), build_message("a/b+#%\u00e9"))
        topic = found.get(timeout=120).topic
    assert topic == "t/a%2Fb%2B%23%25\u00e9/a%2Fb%2B%23%25\u00e9"


def test_a_retained_event_is_there_for_who_comes_later(broker: Any) -> None:
    deliver(build_sink(broker.port, Retain=True), build_message())
    with subscribed(broker.port) as found:
        assert bytes(found.get(timeout=120).payload) == b'{"n":1}'


def test_a_broker_that_is_not_there_is_tried_again(make_broker: Any) -> None:
    broker = make_broker()
    with pytest.raises(DeliveryFailed, match=r"127\.0\.0\.1"):
        deliver(build_sink(broker.port), build_message())


def test_a_broker_that_died_is_connected_to_again(broker: Any) -> None:
    async def play() -> None:
        sink = build_sink(broker.port)
        await sink.open()
        await sink.send(build_message())
        await asyncio.to_thread(broker.kill)
        with pytest.raises(DeliveryFailed):
            await sink.send(build_message(number=2))
        await asyncio.to_thread(broker.start)
        await sink.send(build_message(number=3))
        await sink.close()

    asyncio.run(play())


def test_what_the_broker_does_not_allow_is_not_taken_for_delivered(
    make_broker: Any, tmp_path: Path
) -> None:
    rules = tmp_path / "acl"
    rules.write_text("topic write allowed/#\n")
    broker = make_broker("allow_anonymous true", f"acl_file {rules}")
    broker.start()
    deliver(build_sink(broker.port, Topic="allowed/{key}"), build_message())
    with pytest.raises(DeliveryFailed, match="Not authorized"):
        deliver(build_sink(broker.port), build_message())


def test_who_has_no_right_to_connect_is_told_so(make_broker: Any) -> None:
    broker = make_broker("allow_anonymous false")
    broker.start()
    with pytest.raises(DeliveryFailed, match="Not authorized"):
        deliver(build_sink(broker.port, Username="u", Password="p"), build_message())


def test_a_topic_beyond_all_measure_is_refused(broker: Any) -> None:
    with pytest.raises(DeliveryRefused, match="65535"):
        deliver(build_sink(broker.port, Topic="{key}" * 100), build_message("/" * 1000))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Field required"),
        ({"Topic": "a/#"}, "must not contain '#'"),
        ({"Topic": "{twin}"}, r"knows no \{twin\}, only \{type\}"),
        ({"Topic": ""}, "must not be empty"),
        ({"Certificate": "c.pem"}, "set together"),
        ({"Qos": "3"}, "Input should be 0, 1 or 2"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    base = {"Host": "h"} if settings else {}
    with pytest.raises(ValidationError, match=message):
        MqttSettings.model_validate({**base, **settings})


def test_the_plugin_gives_a_sink_for_its_settings() -> None:
    settings = twinframe_settings().model_validate({"Host": "h", "Qos": "2"})
    assert isinstance(settings, MqttSettings)
    assert settings.qos == 2
    assert isinstance(twinframe_event_sink(settings), MqttSink)


def test_authorities_that_cannot_be_read_are_named() -> None:
    with pytest.raises(DeliveryFailed, match=r"CertificateAuthority /none/ca\.pem cannot be used"):
        deliver(build_sink(1, Tls=True, CertificateAuthority="/none/ca.pem"), build_message())
