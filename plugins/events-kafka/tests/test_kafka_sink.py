"""Events to a Kafka cluster: records, keys, what is said when it is not there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from twinframe.hooks.event_sinks.base import DeliveryFailed, DeliveryRefused, Message
from twinframe_events_kafka.plugin import twinframe_event_sink, twinframe_settings
from twinframe_events_kafka.settings import KafkaSettings
from twinframe_events_kafka.sink import KafkaSink

TYPE = "Microsoft.DigitalTwins.Twin.Update"
SERVERS = ["kafka.example:9093"]


def build_message(key: str = "room1", number: int = 1, size: int = 0) -> Message:
    body = b'{"n":%d,"x":"%b"}' % (number, b"x" * size)
    return Message(body, key, f"id-{number}", TYPE, "host", key)


def build_sink(cluster: Any, **more: Any) -> KafkaSink:
    settings = {"Servers": cluster.servers, "Tls": False, "Timeout": 60, **more}
    return KafkaSink(KafkaSettings.model_validate(settings))


def deliver(sink: KafkaSink, *messages: Message) -> None:
    async def play() -> None:
        async with asyncio.timeout(120):
            await sink.open()
            try:
                for message in messages:
                    await sink.send(message)
            finally:
                await sink.close()

    asyncio.run(play())


def test_events_are_records_keyed_by_their_twin_and_in_its_order(cluster: Any) -> None:
    messages = [build_message(f"room{number % 3}", number) for number in range(12)]
    deliver(build_sink(cluster), *messages)
    records = [cluster.records.get(timeout=120) for _ in range(12)]
    for room in ("room0", "room1", "room2"):
        own = [record for record in records if record.key == room]
        assert len({record.partition for record in own}) == 1
        wanted = [message.body.decode() for message in messages if message.key == room]
        assert [record.value for record in own] == wanted
    assert {record.topic for record in records} == {"twinframe-events"}
    kind = "content-type=application/cloudevents+json; charset=utf-8"
    assert {record.headers for record in records} == {kind}


def test_a_compressed_event_is_what_it_was(cluster: Any) -> None:
    message = build_message(size=50_000)
    deliver(build_sink(cluster, Compression="gzip"), message)
    assert cluster.records.get(timeout=120).value == message.body.decode()


def test_an_event_beyond_the_largest_request_is_refused(cluster: Any) -> None:
    with pytest.raises(DeliveryRefused, match="Kafka refused it"):
        deliver(build_sink(cluster, MaxRequestBytes=10_000), build_message(size=20_000))


def test_a_cluster_that_is_gone_is_tried_again(cluster: Any) -> None:
    cluster.stop()
    with pytest.raises(DeliveryFailed, match="Kafka did not take it"):
        deliver(build_sink(cluster, Timeout=2), build_message())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Field required"),
        ({"Servers": []}, "at least 1"),
        ({"Servers": ["kafka.example"]}, "a host and a port"),
        ({"Servers": SERVERS, "Topic": "a/b"}, "must not contain"),
        ({"Servers": SERVERS, "Topic": "t-{key}"}, "too many for Kafka"),
        ({"Servers": SERVERS, "Tls": False, "Username": "u", "Mechanism": "PLAIN"}, "in the clear"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        KafkaSettings.model_validate(settings)


def test_the_plugin_gives_a_sink_for_its_settings() -> None:
    settings = twinframe_settings().model_validate({"Servers": SERVERS})
    assert isinstance(twinframe_event_sink(settings), KafkaSink)


def test_authorities_that_cannot_be_read_are_named() -> None:
    settings = {"Servers": SERVERS, "CertificateAuthority": "/none/ca.pem"}
    sink = KafkaSink(KafkaSettings.model_validate(settings))
    with pytest.raises(DeliveryFailed, match=r"CertificateAuthority /none/ca\.pem cannot be used"):
        deliver(sink, build_message())
