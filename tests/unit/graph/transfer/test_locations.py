"""Where jobs read and write: what is allowed, what is not, and what servers do to them."""

from __future__ import annotations

import gzip
import ipaddress
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.waiting import PATIENCE, join
from twinframe.errors import InvalidArgument, LocationFailed, UrlNotAllowed
from twinframe.graph.transfer.locations.buckets import BucketLocation
from twinframe.graph.transfer.locations.files import FileLocation
from twinframe.graph.transfer.locations.locations import build_locations, find_contested
from twinframe.graph.transfer.locations.web import WebLocation, is_public, resolve_host
from twinframe.settings import JobsSettings

# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),  # noqa: S104
        *("169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255", "192.0.2.1"),
        *("::", "::1", "fe80::1", "fd00::1", "fc00::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
        *("64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:1234::1"),
        *("::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "fec0::1"),
        *(
            "192.0.0.8",
            "192.0.0.170",
            "192.88.99.1",
            "3fff::1",
            "5f00::1",
            "100::1",
            "100:0:0:1::1",
        ),
        *("2606:4700::1%eth0", "fe80::1%1", "4000::1", "2002:e000:1::1", "64:ff9b::e000:1"),
    ],
)
def test_no_address_of_this_machine_or_its_networks_is_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("8.8.8.8", "2606:4700::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
        *("192.0.0.9", "192.31.196.1", "192.52.193.1", "192.175.48.1", "2001:1::3", "2001:20::1"),
        *("2001:200::1", "2620:4f:8000::1", "192.0.1.1", "100.128.0.1", "223.255.255.255"),
    ],
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


# SPEC: the registries «IANA IPv4/IPv6 Special-Purpose Address Space»: block, «globally reachable».
# None is «N/A»: not reached as such. What no entry has is unicast as assigned, or multicast.
REGISTRY_V4: dict[str, bool | None] = {
    "0.0.0.0/8": False,
    "0.0.0.0/32": False,
    "10.0.0.0/8": False,
    "100.64.0.0/10": False,
    "127.0.0.0/8": False,
    "169.254.0.0/16": False,
    "172.16.0.0/12": False,
    "192.0.0.0/24": False,
    "192.0.0.0/29": False,
    "192.0.0.8/32": False,
    "192.0.0.9/32": True,
    "192.0.0.10/32": True,
    "192.0.0.170/32": False,
    "192.0.0.171/32": False,
    "192.0.2.0/24": False,
    "192.31.196.0/24": True,
    "192.52.193.0/24": True,
    "192.88.99.0/24": None,
    "192.168.0.0/16": False,
    "192.175.48.0/24": True,
    "198.18.0.0/15": False,
    "198.51.100.0/24": False,
    "203.0.113.0/24": False,
    "240.0.0.0/4": False,
    "255.255.255.255/32": False,
}
REGISTRY_V6: dict[str, bool | None] = {
    "::1/128": False,
    "::/128": False,
    "64:ff9b:1::/48": False,
    "100::/64": False,
    "100:0:0:1::/64": False,
    "2001::/23": False,
    "2001::/32": None,
    "2001:1::1/128": True,
    "2001:1::2/128": True,
    "2001:1::3/128": True,
    "2001:2::/48": False,
    "2001:3::/32": True,
    "2001:4:112::/48": True,
    "2001:10::/28": None,
    "2001:20::/28": True,
    "2001:30::/28": True,
    "2001:db8::/32": False,
    "2620:4f:8000::/48": True,
    "3fff::/20": False,
    "5f00::/16": False,
    "fc00::/7": False,
    "fe80::/10": False,
}
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_reached(value: int, size: int, registry: dict[str, bool | None], unicast: Network) -> bool:
    """What the registry says: the entry of the smallest block that has the address."""
    address = ipaddress.IPv4Address(value) if size == 32 else ipaddress.IPv6Address(value)
    found = [network for text in registry if address in (network := ipaddress.ip_network(text))]
    if found:
        return bool(registry[str(max(found, key=lambda network: network.prefixlen))])
    return address in unicast and not address.is_multicast


def draw_address(size: int, registry: dict[str, bool | None]) -> st.SearchStrategy[int]:
    """Addresses of all kinds: anywhere, in a block, and next to the ends of one."""
    networks = [ipaddress.ip_network(text) for text in registry]
    ends = [
        int(network[end]) + step for network in networks for end in (0, -1) for step in (-1, 0, 1)
    ]
    inside = st.sampled_from(networks).flatmap(
        lambda network: st.integers(int(network[0]), int(network[-1]))
    )
    near = st.sampled_from([end for end in ends if 0 <= end < 1 << size])
    return st.integers(0, (1 << size) - 1) | inside | near


ALL_V4 = ipaddress.ip_network("0.0.0.0/0")
UNICAST_V6 = ipaddress.ip_network("2000::/3")
STANDING_FOR_V4 = [
    ("::ffff:0:0", 0),
    ("64:ff9b::", 0),
    ("2002::", 80),
]


@settings(max_examples=500)
@given(draw_address(32, REGISTRY_V4))
def test_an_ipv4_address_is_public_as_the_registry_says(value: int) -> None:
    expected = is_reached(value, 32, REGISTRY_V4, ALL_V4)
    assert is_public(ipaddress.IPv4Address(value)) == expected
    for block, shift in STANDING_FOR_V4:
        standing = ipaddress.IPv6Address(int(ipaddress.IPv6Address(block)) | value << shift)
        assert is_public(standing) == expected, standing
    for block in ("::", "::ffff:0:0:0", "64:ff9b:1::", "fec0::", "2001::", "fe80::5efe:0:0"):
        other = ipaddress.IPv6Address(int(ipaddress.IPv6Address(block)) | value)
        assert not is_public(other), other


# What is public here and not global to some version of Python, and why. The lists of Python stand
# for the registries of its year.
BEYOND_PYTHON = {
    "::ffff:0:0/96": "is what the IPv4 address inside is; Python says so from 3.13 on",
    "2002::/16": "is what the IPv4 address inside is; the registry says neither",
    "2001:1::1/128": "reachable in the registry since 2015; in Python since 3.13, and patches",
    "2001:1::2/128": "likewise",
    "2001:1::3/128": "reachable in the registry since 2024, in no Python yet",
    "2001:3::/32": "as the first",
    "2001:4:112::/48": "as the first",
    "2001:20::/28": "as the first",
    "2001:30::/28": "as the first",
}
BEYOND_PYTHON_NETWORKS = [ipaddress.ip_network(text) for text in BEYOND_PYTHON]


@settings(max_examples=1000)
@given(
    st.builds(ipaddress.IPv4Address, draw_address(32, REGISTRY_V4))
    | st.builds(ipaddress.IPv6Address, draw_address(128, REGISTRY_V6))
)
def test_what_is_public_is_global_to_python_too_but_for_the_differences_listed(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    assume(not any(address in network for network in BEYOND_PYTHON_NETWORKS))
    assert address.is_global or not is_public(address)


def list_edges(networks: Iterable[Any]) -> Iterator[Any]:
    """The first and last address of each, and those beside them."""
    for network in networks:
        yield from (network[0], network[-1])
        if int(network[0]):
            yield network[0] - 1
        if int(network[-1]) < (1 << network.max_prefixlen) - 1:
            yield network[-1] + 1


def test_no_block_that_python_knows_as_private_is_public() -> None:
    known = [
        network
        for constants in (ipaddress.IPv4Address, ipaddress.IPv6Address)
        for network in constants._constants._private_networks  # type: ignore[attr-defined, union-attr]
    ]
    assert len(known) > 20
    for address in list_edges(known):
        if not any(address in network for network in BEYOND_PYTHON_NETWORKS):
            assert address.is_global or not is_public(address), address


@settings(max_examples=500)
@given(draw_address(128, REGISTRY_V6))
def test_an_ipv6_address_is_public_as_the_registry_says(value: int) -> None:
    address = ipaddress.IPv6Address(value)
    for block in ("::ffff:0:0/96", "64:ff9b::/96", "2002::/16"):  # the other test's
        assume(address not in ipaddress.IPv6Network(block))
    assert is_public(address) == is_reached(value, 128, REGISTRY_V6, UNICAST_V6)


@pytest.mark.parametrize(
    "host", ["127.1", "0x7f.1", "0177.0.0.1", "2130706433", "localhost", "0", "[::1]".strip("[]")]
)
def test_odd_spellings_of_this_machine_are_seen_through(host: str) -> None:
    with pytest.raises((UrlNotAllowed, LocationFailed)):
        resolve_host(host, 80, allow_private=False)


def test_a_name_with_one_private_address_among_others_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [(2, 1, 6, "", ("8.8.8.8", 80)), (2, 1, 6, "", ("10.0.0.1", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: found)
    with pytest.raises(UrlNotAllowed, match=r"10\.0\.0\.1"):
        resolve_host("data.example", 80, allow_private=False)
    assert resolve_host("data.example", 80, allow_private=True) == "8.8.8.8"


# --- the web --------------------------------------------------------------------------------------


class Site:
    """A server of this machine; `answers` says what it does for each path."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                site.requests.append((self.command, self.path, headers, self.rfile.read(length)))
                site.answers[self.path.partition("?")[0]](self)

            do_PUT = do_GET  # noqa: N815

            def log_message(self, *_args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        join(self._thread)


def answer(
    status: int, body: bytes = b"", **headers: str
) -> Callable[[BaseHTTPRequestHandler], None]:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return send


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def web(site: Site) -> WebLocation:
    return WebLocation([f"http://localhost:{site.port}"], allow_private=True, timeout=PATIENCE)


def read(location: Any, url: str) -> bytes:
    with location.open_source(url) as source:
        pieces = []
        while piece := source.stream.read(7):
            assert len(piece) <= 7
            pieces.append(piece)
        return b"".join(pieces)


def test_a_file_that_was_closed_meanwhile_is_read_no_more(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"line\n")
    with FileLocation([str(tmp_path)]).open_source(f"file://{path}") as source:
        pass
    other = os.open("/dev/zero", os.O_RDONLY)  # the number is given again
    try:
        with pytest.raises(LocationFailed, match="was closed"):
            source.stream.read(7)
    finally:
        os.close(other)


def test_a_source_of_the_web_is_read_raw_and_known_again(site: Site, web: WebLocation) -> None:
    packed = gzip.compress(b"line\n" * 100, mtime=0)
    site.answers["/in"] = answer(200, packed, Content_Encoding="gzip", ETag='"1"')
    url = f"http://localhost:{site.port}/in?sig=secret"
    assert read(web, url) == packed
    with web.open_source(url) as one:
        identity = one.identity
    site.answers["/in"] = answer(200, packed, Content_Encoding="gzip", ETag='"2"')
    with web.open_source(url) as other:
        assert other.identity != identity
    method, path, headers, _ = site.requests[0]
    assert (method, path) == ("GET", "/in?sig=secret")
    assert headers["host"] == f"localhost:{site.port}"
    assert {"authorization", "cookie"}.isdisjoint(headers)


def test_the_connection_is_made_to_the_address_that_was_looked_at(
    site: Site, web: WebLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that leads elsewhere at its second look (DNS rebinding) leads nowhere."""
    site.answers["/in"] = answer(200, b"x")
    resolve, asked = socket.getaddrinfo, []

    def look(host: Any, *arguments: Any, **more: Any) -> Any:
        asked.append(host)
        return resolve(host, *arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look)
    assert read(web, f"http://localhost:{site.port}/in") == b"x"
    assert asked.count("localhost") == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_where_they_are_allowed(
    site: Site, web: WebLocation, status: int
) -> None:
    site.answers["/in"] = answer(status, Location="/there")
    site.answers["/there"] = answer(200, b"x")
    assert read(web, f"http://localhost:{site.port}/in") == b"x"


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:{port}/x",
        "https://localhost:{port}/x",
        "http://localhost:1/x",
        "file:///x",
    ],
)
def test_a_redirect_to_where_jobs_may_not_go_is_refused(
    site: Site, web: WebLocation, target: str
) -> None:
    site.answers["/in"] = answer(302, Location=target.format(port=site.port))
    with pytest.raises(UrlNotAllowed):
        read(web, f"http://localhost:{site.port}/in")
    assert len(site.requests) == 1


def test_redirects_without_an_end_are_not_followed(site: Site, web: WebLocation) -> None:
    site.answers["/in"] = answer(302, Location="/in")
    with pytest.raises(LocationFailed, match="redirects"):
        read(web, f"http://localhost:{site.port}/in")
    assert len(site.requests) == 4


def test_private_addresses_need_the_operators_word(site: Site) -> None:
    web = WebLocation([f"http://localhost:{site.port}"], allow_private=False, timeout=2.0)
    with pytest.raises(UrlNotAllowed, match="not public"):
        read(web, f"http://localhost:{site.port}/in")
    assert site.requests == []


def _cut(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.close_connection = True


def _hang(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.rfile.read(1)  # until the client has gone


@pytest.mark.parametrize(
    "behave",
    [answer(404), answer(500, b"x"), answer(204), _cut, _hang],
    ids=["absent", "broken", "empty", "cut off", "silent"],
)
def test_a_server_that_does_not_do_its_part_is_named(
    site: Site, behave: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    web = WebLocation([f"http://localhost:{site.port}"], allow_private=True, timeout=0.3)
    site.answers["/in"] = behave
    with pytest.raises(LocationFailed) as failed:
        read(web, f"http://localhost:{site.port}/in?sig=secret")
    assert "secret" not in failed.value.message


def test_a_log_is_put_in_one_request(site: Site, web: WebLocation) -> None:
    site.answers["/out"] = answer(201)
    web.write(f"http://localhost:{site.port}/out", [b"a\n", b"b\n"])
    method, _, headers, body = site.requests[0]
    assert (method, body, headers["x-ms-blob-type"]) == ("PUT", b"a\nb\n", "BlockBlob")
    site.answers["/out"] = answer(302, Location="/elsewhere")
    with pytest.raises(LocationFailed, match="302"):
        web.write(f"http://localhost:{site.port}/out", [b"a\n"])


# --- files ----------------------------------------------------------------------------------------


def test_links_inside_are_followed_and_links_out_are_not(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "real").write_bytes(b"x")
    (outside / "secret").write_bytes(b"y")
    (inside / "folder").symlink_to(outside)
    (inside / "near").symlink_to(inside)
    location = FileLocation([str(inside)])
    assert read(location, f"file://{inside}/near/real") == b"x"
    assert read(location, f"file://localhost{inside}/real") == b"x"
    with pytest.raises(UrlNotAllowed):
        read(location, f"file://{inside}/folder/secret")
    with pytest.raises(UrlNotAllowed):
        location.write(f"file://{inside}/folder/log", [b"z"])
    assert not (outside / "log").exists()


def test_a_folder_named_like_the_beginning_of_another_is_another(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "x").write_bytes(b"x")
    with pytest.raises(UrlNotAllowed):
        read(FileLocation([str(tmp_path / "in")]), f"file://{tmp_path}/inner/x")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero, as on Linux")
def test_a_device_is_no_file() -> None:
    with pytest.raises(UrlNotAllowed, match="regular"):
        read(FileLocation(["/dev"]), "file:///dev/zero")


def test_a_log_replaces_a_log_and_nothing_else(tmp_path: Path) -> None:
    location, url = FileLocation([str(tmp_path)]), f"file://{tmp_path}/a%20log"
    location.write(url, [b'{"jobType":"Import"}\n'])
    location.write(url, [b'{"jobType":"Import"}\n', b"x\n"])
    assert (tmp_path / "a log").read_bytes() == b'{"jobType":"Import"}\nx\n'
    makes: tuple[Callable[[Path], Any], ...] = (
        lambda path: path.write_bytes(b"data"),
        Path.mkdir,
        lambda path: path.symlink_to("/etc/passwd"),
        os.mkfifo,
    )
    for number, make in enumerate(makes):
        target = tmp_path / f"other-{number}"
        make(target)
        with pytest.raises((UrlNotAllowed, LocationFailed)):
            location.write(f"file://{target}", [b"x"])
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_log_that_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    location, url = FileLocation([str(tmp_path)]), f"file://{tmp_path}/log"
    location.write(url, [b'{"jobType":"Import"}\n'])

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        location.write(url, broken())
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert (tmp_path / "log").read_bytes() == b'{"jobType":"Import"}\n'


_WRITER = """
import sys
from twinframe.graph.transfer.locations.files import FileLocation

def pieces():
    yield b"half"
    print("begun", flush=True)
    sys.stdin.read()

FileLocation([sys.argv[1]]).write(f"file://{sys.argv[1]}/log", pieces())
"""


def test_what_a_killed_writer_left_goes_with_the_next_log_and_what_is_being_written_stays(
    tmp_path: Path,
) -> None:
    own = tmp_path / f".{'a' * 32}.draft"
    own.write_text("somebody else's")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"begun\n"
        assert len(list(tmp_path.glob("*.twinframe-part"))) == 2
        writers[0].kill()
        writers[0].wait(120)
        FileLocation([str(tmp_path)]).write(f"file://{tmp_path}/other", [b'{"jobType":"Import"}\n'])
        assert len(list(tmp_path.glob(".*.twinframe-part"))) == 1
    finally:
        for writer in writers:
            writer.communicate(timeout=PATIENCE)  # the end of its input: the second finishes
    assert {path.name for path in tmp_path.iterdir()} == {own.name, "log", "other"}
    assert (tmp_path / "log").read_bytes() == b"half"


# --- object stores --------------------------------------------------------------------------------


def test_objects_are_read_and_written_below_the_prefixes() -> None:
    pytest.importorskip("fsspec", reason="pip install fsspec to read from object stores")
    location = BucketLocation(["memory://bucket/folder"])
    location.write("memory://bucket/folder/log", [b"a", b"b"])
    assert read(location, "memory://bucket/folder/log") == b"ab"
    with pytest.raises(LocationFailed, match="FileNotFoundError"):
        read(location, "memory://bucket/folder/absent")
    for url in ("memory://bucket/log", "memory://bucket/folder2/x", "memory://bucket/folder/../x"):
        with pytest.raises((UrlNotAllowed, InvalidArgument)):
            location.write(url, [b"x"])


def test_an_object_store_without_its_library_names_what_to_install() -> None:
    with pytest.raises(LocationFailed, match=r"pip install 'twinframe\[azure\]'"):
        read(BucketLocation(["az://c"]), "az://c/x")
    location = BucketLocation(["https://account.blob.core.windows.net/c"])
    with pytest.raises(LocationFailed, match=r"pip install 'twinframe\[azure\]'"):
        read(location, "https://account.blob.core.windows.net/c/x")


def test_hosted_graphs_have_places_of_their_own_alone(tmp_path: Path) -> None:
    settings = JobsSettings(
        directories=(str(tmp_path / "own"), str(tmp_path / "hosted" / "{graph}")),
        buckets=("s3://own", "s3://hosted/{graph}"),
    )
    own, hosted = build_locations(settings), build_locations(settings, "g1")
    own.find(f"file://{tmp_path}/own/x")
    own.find("s3://own/x")
    hosted.find(f"file://{tmp_path}/hosted/g1/x")
    hosted.find("s3://hosted/g1/x")
    for locations, urls in (
        (own, (f"file://{tmp_path}/hosted/g1/x", "s3://hosted/g1/x")),
        (hosted, (f"file://{tmp_path}/own/x", "s3://own/x", "s3://hosted/g10/x")),
        (hosted, (f"file://{tmp_path}/hosted/g2/x",)),
    ):
        for url in urls:
            with pytest.raises((UrlNotAllowed, InvalidArgument)):
                locations.find(url)


@pytest.mark.parametrize(
    "hosts", [["data.example/path"], ["ftp://data.example"], ["user@data.example"], [""]]
)
def test_settings_of_hosts_that_are_none_are_refused(hosts: list[str]) -> None:
    with pytest.raises(ValueError, match="must be a host"):
        JobsSettings(hosts=tuple(hosts))


@pytest.mark.parametrize(
    ("locations", "contested"),
    [
        (["/data/own", "/data/{graph}"], True),
        (["/data/{graph}", "/data/own/deep"], True),
        (["/data/{graph}", "/data/x/../own"], True),
        (["/data/{graph}/jobs", "/data/own/jobs"], True),
        (["/data/{graph}", "/data/pre-{graph}"], True),
        (["/data/{graph}", "/data/shared/{graph}"], True),
        (["/data/g-{graph}", "/data/g-own"], True),
        (["s3://own/jobs", "s3://{graph}/jobs"], True),
        (["s3://bucket/{graph}", "s3://bucket/own"], True),
        (["/data/own", "/data/hosted/{graph}"], False),
        (["/data/g-{graph}", "/data/own"], False),
        (["/data/{graph}", "/data/Own_1"], False),
        (["/data/{graph}/in", "/data/{graph}/out"], False),
        (["/data/{graph}", "/data/{graph}/more"], False),
        (["/data", "/data/{graph}"], False),
        (["/data/{graph}/in", "/data/own/out"], False),
        (["/data/own", "/data/other"], False),
        (["s3://own", "s3://hosted/{graph}", "gs://hosted/own"], False),
    ],
)
def test_places_that_an_id_could_make_one_are_told(locations: list[str], contested: bool) -> None:
    assert (find_contested(locations) is not None) == contested
    assert (find_contested(locations[::-1]) is not None) == contested
