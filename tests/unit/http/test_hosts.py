"""By which names a service is known, and what links begin with then."""

from __future__ import annotations

from typing import Any, cast

import pytest

from twinframe.http.exchange import Exchange
from twinframe.http.links import KnownHosts, Links, build_local_host
from twinframe.settings import Settings


def build_settings(**sections: Any) -> Settings:
    return Settings.model_validate(sections)


@pytest.mark.parametrize(
    ("bind", "host", "known"),
    [
        ("127.0.0.1:8080", "localhost:1", True),
        ("127.0.0.1:8080", "[::1]:8080", True),
        ("127.0.0.1:8080", "127.0.0.1", True),
        ("127.0.0.1:8080", "127.0.0.1:x", False),
        ("0.0.0.0:8080", "localhost:1", True),
        ("0.0.0.0:8080", "192.0.2.1:8080", False),
        ("192.0.2.1:8080", "192.0.2.1:8080", True),
        ("192.0.2.1:8080", "192.0.2.1", True),
        ("192.0.2.1:8080", "192.0.2.1:81", False),
        ("192.0.2.1:8080", "localhost:8080", False),
        ("[2001:db8::1]:443", "[2001:DB8::1]:443", True),
        ("unix:/run/twinframe.sock", "localhost", True),
        ("unix:/run/twinframe.sock", "twins.example", False),
    ],
)
def test_the_address_listened_on_is_a_name(bind: str, host: str, known: bool) -> None:
    assert KnownHosts(build_settings(), [bind]).knows(host) == known


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("a.graphs.example", True),
        ("A.Graphs.Example:8443", True),
        ("a.graphs.example:8080", True),
        ("a.graphs.example:22", True),
        ("a.graphs.example:x", False),
        ("a.graphs.example.:80", False),
        ("graphs.example", False),
        ("agraphs.example", False),
        ("a.graphs.example.evil.example", False),
    ],
)
def test_hosts_of_graphs_are_names_with_any_port(host: str, known: bool) -> None:
    hosting = {"enabled": True, "domain": "graphs.example", "public_url": "https://t.example:8443"}
    assert KnownHosts(build_settings(hosting=hosting), ["127.0.0.1:8080"]).knows(host) == known


@pytest.mark.parametrize(
    ("server", "found"),
    [
        (("192.0.2.1", 8080), "192.0.2.1:8080"),
        (("2001:db8::1", 443), "[2001:db8::1]:443"),
        (("/run/twinframe.sock", None), "localhost"),
        (None, "localhost"),
    ],
)
def test_the_address_a_request_came_in_at_can_stand_in_a_url(server: Any, found: str) -> None:
    assert build_local_host({"server": server}) == found


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (b"a.graphs.example", "http://a.graphs.example"),
        (b"a.graphs.example:8080", "http://a.graphs.example:8080"),
        (b"a.graphs.example:8443", "http://a.graphs.example:8443"),
    ],
)
def test_a_graph_at_its_own_host_is_named_as_it_was_called(host: bytes, origin: str) -> None:
    settings = build_settings(
        hosting={"enabled": True, "domain": "graphs.example"}, server={"bind": "127.0.0.1:8080"}
    )
    scope = {"headers": [(b"host", host)], "scheme": "http", "server": ("127.0.0.1", 8080)}
    exchange = Exchange(scope, cast("Any", None), cast("Any", None), b"1", 1)
    exchange.own_host = True
    assert Links(settings, "https://mcp.example/mcp").build_origin(exchange) == origin
