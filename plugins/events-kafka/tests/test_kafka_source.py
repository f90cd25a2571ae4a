"""Records of a Kafka cluster: what comes, what comes again, what is said when it is away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from pydantic import ValidationError

from tests.waiting import play
from twinframe.hooks.sources.base import SourceFailed, SourceMessage, Subscription
from twinframe_events_kafka.settings import KafkaSourceSettings
from twinframe_events_kafka.source import KafkaSource
from twinframe_events_kafka.source_plugin import twinframe_settings, twinframe_source

SERVERS = ["kafka.example:9093"]


def build_source(cluster: Any, **more: Any) -> KafkaSource:
    settings = {"Servers": cluster.servers, "Tls": False, "Timeout": 60, **more}
    return KafkaSource(KafkaSourceSettings.model_validate(settings))


def build_subscription(*filters: str, most: int = 100) -> Subscription:
    return Subscription(filters or ("plant.a",), (), "twinframe-g-s", most, 1_000_000)


async def publish(cluster: Any, *numbers: int, topic: str = "plant.a") -> None:
    producer = AIOKafkaProducer(bootstrap_servers=cluster.servers, acks="all")
    await producer.start()
    try:
        for number in numbers:
            await producer.send_and_wait(
                topic,
                b"%d" % number,
                key=b"r%d" % (number % 3),
                headers=[("site", b"x")],
                timestamp_ms=1_772_373_600_000 + number,
            )
    finally:
        await producer.stop()


async def receive(source: KafkaSource, count: int) -> list[SourceMessage]:
    found: list[SourceMessage] = []
    while len(found) < count:
        found += await source.receive(count - len(found))
    return found


def list_numbers(messages: Sequence[SourceMessage], key: str | None = None) -> list[int]:
    return [int(one.payload) for one in messages if key is None or one.key == key]


def test_records_come_in_the_order_of_their_key_with_key_headers_and_time(cluster: Any) -> None:
    async def scene() -> None:
        await publish(cluster, *range(30))
        await publish(cluster, 30, topic="plant.b")
        await publish(cluster, 31, topic="other.b")
        source = build_source(cluster)
        await source.open(build_subscription("plant.*"))
        messages = await receive(source, 31)
        await source.acknowledge(messages)
        await source.close()
        assert sorted(list_numbers(messages)) == list(range(31))
        own = [message for message in messages if message.topic == "plant.a"]
        for key in range(3):
            assert list_numbers(own, f"r{key}") == list(range(key, 30, 3))
        assert (own[0].headers, own[0].time) == (
            {"site": "x"},
            (1_772_373_600_000 + int(own[0].payload)) * 1000,
        )

    play(scene)


def test_what_was_not_acknowledged_comes_again(cluster: Any) -> None:
    async def scene() -> None:
        await publish(cluster, *range(9))
        source = build_source(cluster)
        await source.open(build_subscription())
        first = await receive(source, 3)
        await source.acknowledge(first)
        second = await receive(source, 6)
        await source.close()
        await source.open(build_subscription())
        again = await receive(source, 6)
        assert sorted(list_numbers(again)) == sorted(list_numbers(second))
        assert sorted(list_numbers(first + again)) == list(range(9))
        await source.close()

    play(scene)


def test_a_cluster_that_is_away_is_named(cluster: Any) -> None:
    cluster.stop()

    async def scene() -> None:
        source = build_source(cluster, Timeout=2)
        for act in (source.probe, lambda: source.open(build_subscription())):
            with pytest.raises(SourceFailed, match="Kafka gives no messages"):
                await act()
        await source.close()

    play(scene)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Field required"),
        ({"Servers": ["kafka.example"]}, "a host and a port"),
        ({"Servers": SERVERS, "Topic": "a"}, "Extra inputs"),
        ({"Servers": SERVERS, "Tls": False, "Username": "u", "Mechanism": "PLAIN"}, "in the clear"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        KafkaSourceSettings.model_validate(settings)


def test_the_plugin_gives_a_source_for_its_settings() -> None:
    settings = twinframe_settings().model_validate({"Servers": SERVERS})
    assert isinstance(twinframe_source(settings), KafkaSource)


def test_authorities_that_cannot_be_read_are_named() -> None:
    settings = {"Servers": SERVERS, "CertificateAuthority": "/none/ca.pem"}
    source = KafkaSource(KafkaSourceSettings.model_validate(settings))
    with pytest.raises(SourceFailed, match="source's CertificateAuthority /none/ca"):
        asyncio.run(source.probe())
