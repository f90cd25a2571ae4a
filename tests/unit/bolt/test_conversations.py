"""Conversations by hand: handshakes, messages in each state, interrupts, limits, garbage."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import neo4j
import pytest
import pytz
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neo4j.exceptions import AuthError, ClientError, ConstraintError, ServiceUnavailable
from neo4j.time import Date, DateTime, Duration, Time

from tests.e2e.server import make_certificates
from tests.unit.bolt.world import (
    BEGIN,
    COMMIT,
    DISCARD,
    FAILURE,
    GOODBYE,
    HELLO,
    IGNORED,
    LOGOFF,
    LOGON,
    PULL,
    RECORD,
    RESET,
    ROLLBACK,
    ROUTE,
    RUN,
    SUCCESS,
    BoltWorld,
    Dialogue,
)
from tests.waiting import wait_until
from twinframe.access.authentication.api_keys import ApiKeyAuthenticator, ApiKeys
from twinframe.access.gate import Gate
from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.bolt.framing import MAGIC
from twinframe.runtime.instruments.base import Level
from twinframe.storage.memory import MemoryStore

LONG = "UNWIND range(1, 3000) AS i UNWIND range(1, 3000) AS j WITH i + j AS k RETURN max(k)"


@pytest.fixture(scope="module")
def world() -> Iterator[BoltWorld]:
    with BoltWorld(MemoryStore()) as world:
        yield world


@pytest.fixture
def dialogue(world: BoltWorld) -> Iterator[Dialogue]:
    with world.dial() as dialogue:
        yield dialogue.log_in()


HANDSHAKES = {
    "one version": ("00000005" + "00" * 12, "00000005"),
    "the newest of a range": ("00080805" + "00" * 12, "00000805"),
    "no 5.5": ("00000505" + "00000405" + "00" * 8, "00000405"),
    "the first that is known": ("00000006" + "00000304" + "00020405" + "00000105", "00000405"),
    "none": ("00000304" + "00000004" + "00" * 8, "00000000"),
}


@pytest.mark.parametrize(("proposals", "answer"), HANDSHAKES.values(), ids=HANDSHAKES)
def test_a_version_is_chosen(world: BoltWorld, proposals: str, answer: str) -> None:
    with world.dial() as dialogue:
        assert dialogue.shake_hands(bytes.fromhex(proposals)).hex() == answer
        if answer == "00000000":
            assert dialogue.receive(1) == b""


def test_a_client_chooses_from_the_list_of_versions(world: BoltWorld) -> None:
    with world.dial() as dialogue:
        assert dialogue.shake_hands(bytes.fromhex("000001ff") + bytes(12)).hex() == "000001ff"
        assert dialogue.receive(10).hex() == "02" + "00020805" + "00040405" + "00"
        dialogue.socket.sendall(bytes.fromhex("0000070500"))
        assert dialogue.ask(HELLO, {})[0] == SUCCESS


@pytest.mark.parametrize("choice", ["0000050500", "0000090500", "0000000600", "0000080501"])
def test_a_choice_that_is_not_on_the_list_ends_the_connection(
    world: BoltWorld, choice: str
) -> None:
    with world.dial() as dialogue:
        dialogue.shake_hands(bytes.fromhex("000001ff") + bytes(12))
        dialogue.receive(10)
        dialogue.socket.sendall(bytes.fromhex(choice))
        assert dialogue.receive(1) == b""


def test_hello_has_the_credentials_before_5_1(world: BoltWorld) -> None:
    with world.dial() as dialogue:
        assert dialogue.shake_hands(bytes.fromhex("00000005") + bytes(12))[3] == 5
        tag, found = dialogue.ask(HELLO, {"scheme": "none", "user_agent": "x"})
        assert tag == SUCCESS
        assert found["server"].startswith("Neo4j/")
        assert dialogue.ask(RUN, "RETURN 1 +", {}, {})[1]["code"].endswith("SyntaxError")


def test_rows_come_as_they_are_pulled(dialogue: Dialogue) -> None:
    tag, found = dialogue.ask(RUN, "UNWIND [1, 2, 3] AS x RETURN x, 'a' AS y", {}, {})
    assert (tag, found["fields"]) == (SUCCESS, ["x", "y"])
    assert dialogue.ask(PULL, {"n": 2}) == (RECORD, [1, "a"])
    assert dialogue.read() == (RECORD, [2, "a"])
    assert dialogue.read() == (SUCCESS, {"has_more": True})
    assert dialogue.ask(PULL, {"n": -1}) == (RECORD, [3, "a"])
    tag, found = dialogue.read()
    assert (tag, found["type"], found["db"]) == (SUCCESS, "r", "neo4j")
    assert found["statuses"][0]["gql_status"] == "00000"
    assert dialogue.ask(RUN, "UNWIND [] AS x RETURN x", {}, {})[0] == SUCCESS
    assert dialogue.ask(DISCARD, {"n": -1})[1]["statuses"][0]["gql_status"] == "02000"


def test_after_a_failure_all_is_ignored_until_a_reset(dialogue: Dialogue) -> None:
    tag, found = dialogue.ask(RUN, "RETURN 1 +", {}, {})
    assert (tag, found["neo4j_code"]) == (FAILURE, "Neo.ClientError.Statement.SyntaxError")
    assert found["gql_status"] == "42001"
    assert dialogue.ask(PULL, {}) == dialogue.ask(COMMIT) == (IGNORED, None)
    assert dialogue.ask(RESET) == (SUCCESS, {})
    assert dialogue.ask(RUN, "RETURN 1", {}, {})[0] == SUCCESS


MISPLACED = {
    "PULL": ((PULL, {"n": 1}),),
    "COMMIT": ((COMMIT,),),
    "ROLLBACK": ((ROLLBACK,),),
    "BEGIN in BEGIN": ((BEGIN, {}), (BEGIN, {})),
    "HELLO again": ((HELLO, {}),),
    "RUN with other fields": ((RUN, "RETURN 1"),),
    "an unknown tag": ((0x55,),),
}


@pytest.mark.parametrize("messages", MISPLACED.values(), ids=MISPLACED)
def test_a_message_that_cannot_come_now_ends_the_connection(
    dialogue: Dialogue, messages: tuple[Any, ...]
) -> None:
    for one in messages[:-1]:
        assert dialogue.ask(*one)[0] == SUCCESS
    tag, found = dialogue.ask(*messages[-1])
    assert (tag, found["neo4j_code"]) == (FAILURE, "Neo.ClientError.Request.Invalid")
    assert dialogue.read() == (0, None)


def test_statements_need_a_login(world: BoltWorld) -> None:
    with world.dial() as dialogue:
        dialogue.shake_hands()
        assert dialogue.ask(HELLO, {})[0] == SUCCESS
        assert dialogue.ask(RUN, "RETURN 1", {}, {})[0] == FAILURE
        assert dialogue.read() == (0, None)


def test_a_client_logs_off_and_in_again(dialogue: Dialogue) -> None:
    assert dialogue.ask(LOGOFF) == (SUCCESS, {})
    assert dialogue.ask(LOGON, {"scheme": "none"}) == (SUCCESS, {})
    assert dialogue.ask(RUN, "RETURN 1", {}, {})[0] == SUCCESS
    dialogue.send(GOODBYE)
    assert dialogue.read() == (0, None)


def test_a_router_is_told_this_server(dialogue: Dialogue) -> None:
    tag, found = dialogue.ask(ROUTE, {"address": "twins.example:7687"}, [], {})
    assert tag == SUCCESS
    roles = {one["role"]: one["addresses"] for one in found["rt"]["servers"]}
    assert roles == {role: ["twins.example:7687"] for role in ("READ", "WRITE", "ROUTE")}


def test_a_reset_interrupts_a_statement_and_what_waits_behind_it(dialogue: Dialogue) -> None:
    dialogue.send(RUN, LONG, {}, {})
    dialogue.send(PULL, {"n": -1})
    dialogue.send(RESET)
    assert [dialogue.read()[0] for _ in range(3)] == [IGNORED, IGNORED, SUCCESS]
    dialogue.ask(BEGIN, {})
    dialogue.send(RUN, LONG, {}, {})
    dialogue.send(RESET)
    assert [dialogue.read()[0] for _ in range(2)] == [IGNORED, SUCCESS]
    assert dialogue.ask(RUN, "RETURN 1", {}, {})[0] == SUCCESS


def test_a_reset_ends_a_statement_that_writes(dialogue: Dialogue, world: BoltWorld) -> None:
    position = world.do(world.graph.statements.read_position())
    for begins in (False, True):
        if begins:
            assert dialogue.ask(BEGIN, {})[0] == SUCCESS
        dialogue.send(RUN, LONG.replace("RETURN max(k)", "WITH max(k) AS k CREATE (:A)"), {}, {})
        wait_until(lambda: world.runner.read_levels()[Level.WRITES_WAITING] > 0)
        dialogue.send(RESET)
        assert [dialogue.read()[0] for _ in range(2)] == [IGNORED, SUCCESS]
        wait_until(lambda: world.runner.is_idle)
    assert world.do(world.graph.statements.read_position()) == position


def test_a_client_that_leaves_takes_its_transaction_with_it(world: BoltWorld) -> None:
    with world.dial() as dialogue:
        dialogue.log_in()
        assert dialogue.ask(BEGIN, {})[0] == SUCCESS
        assert dialogue.ask(RUN, "CREATE (:Left)", {}, {})[0] == SUCCESS
    with world.connect() as driver:
        driver.execute_query("CREATE (:Stayed)")
        assert driver.execute_query("MATCH (n:Left) RETURN n").records == []


def test_a_transaction_that_holds_the_writer_for_too_long_is_rolled_back() -> None:
    with (
        BoltWorld(MemoryStore(), write_hold=0.2) as world,
        world.connect() as driver,
        world.dial() as dialogue,
    ):
        dialogue.log_in()
        assert dialogue.ask(BEGIN, {})[0] == SUCCESS
        assert dialogue.ask(RUN, "CREATE (:A)", {}, {})[0] == SUCCESS
        with driver.session() as session:
            session.run("CREATE (:B)").consume()  # waits for as long
        assert dialogue.ask(PULL, {"n": -1})[0] == SUCCESS
        tag, found = dialogue.ask(COMMIT)
        assert tag == FAILURE
        assert found["neo4j_code"] == "Neo.ClientError.Transaction.TransactionTimedOut"
        assert len(driver.execute_query("MATCH (n) RETURN n").records) == 1


def test_a_message_is_limited_before_and_after_the_login() -> None:
    with BoltWorld(MemoryStore(), max_message_bytes=20_000) as world:
        with world.dial() as dialogue:
            dialogue.shake_hands()
            tag, _ = dialogue.ask(HELLO, {"user_agent": "x" * 10_000})
            assert tag == FAILURE
            assert dialogue.read() == (0, None)
        with world.dial() as dialogue:
            dialogue.log_in()
            assert dialogue.ask(RUN, "RETURN $x", {"x": "x" * 15_000}, {})[0] == SUCCESS
            assert dialogue.ask(RUN, "RETURN $x", {"x": "x" * 30_000}, {})[0] == FAILURE


def test_slow_clients_are_closed() -> None:
    with BoltWorld(MemoryStore(), login_timeout=0.2, message_timeout=0.2) as world:
        with world.dial() as silent:
            assert silent.receive(1) == b""
        with world.dial() as half:
            half.log_in()
            half.socket.sendall(b"\x00\x09\xb1")
            assert half.receive(1) == b""


def test_more_connections_than_there_may_be_close_the_idle_ones() -> None:
    limits: Any = {"max_connections": 4, "max_connections_per_address": 4}
    with BoltWorld(MemoryStore(), **limits) as world, world.connect() as driver:
        kept = [world.dial().log_in() for _ in range(4)]
        wait_until(lambda: _answers(driver))
        for one in kept:
            one.socket.close()


def _answers(driver: neo4j.Driver) -> bool:
    try:
        return bool(driver.execute_query("RETURN 1").records)
    except ServiceUnavailable:
        return False  # all were opened just now


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=200), is_logged_in=st.booleans())
def test_garbage_harms_nobody(world: BoltWorld, data: bytes, is_logged_in: bool) -> None:
    with world.dial() as dialogue, suppress(ConnectionError):  # it may end before all is sent
        if is_logged_in:
            dialogue.log_in()
            data = len(data).to_bytes(2, "big") + data + b"\x00\x00"
        dialogue.socket.sendall(data)
        dialogue.socket.shutdown(1)
        while dialogue.socket.recv(4096):
            pass
    assert not world.failures
    assert world.memory.used == 0


_TAGS = (HELLO, RESET, RUN, BEGIN, COMMIT, ROLLBACK, DISCARD, PULL, ROUTE, LOGON, LOGOFF)
_TEXTS = st.sampled_from(["RETURN 1", "CREATE (:A)", "UNWIND [1, 2] AS x RETURN x", "RETURN", LONG])
_FIELDS = {
    RUN: st.tuples(_TEXTS, st.just({}), st.sampled_from([{}, {"mode": "r"}, {"db": "x"}])),
    HELLO: st.just(({},)),
    LOGON: st.sampled_from([({"scheme": "none"},), ({"scheme": "x"},)]),
    BEGIN: st.sampled_from([({},), ({"mode": "r"},), ({"tx_timeout": 1},)]),
    PULL: st.sampled_from([({"n": -1},), ({"n": 1},), ({"n": 0},), ({"n": 1, "qid": 7},)]),
    DISCARD: st.just(({"n": -1},)),
    ROUTE: st.just(({}, [], {})),
}
_MESSAGES = st.sampled_from(_TAGS).flatmap(
    lambda tag: st.tuples(st.just(tag), _FIELDS.get(tag, st.just(())))
)


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(messages=st.lists(_MESSAGES, max_size=12))
def test_each_message_of_any_order_is_answered_or_the_connection_ends(
    world: BoltWorld, messages: list[tuple[int, tuple[Any, ...]]]
) -> None:
    with world.dial() as dialogue, suppress(ConnectionError):  # it may end before all is sent
        dialogue.log_in()
        for tag, fields in messages:
            dialogue.send(tag, *fields)
        dialogue.send(RESET)
        answers = 0
        while answers <= len(messages):
            tag, _ = dialogue.read()
            answers += tag != RECORD
            if not tag:
                break
    assert not world.failures


MACHINE: dict[str, Any] = {
    "@id": "dtmi:Machine;1",
    "@type": "Interface",
    "@context": "dtmi:dtdl:context;3",
    "contents": [
        {
            "@type": "Property",
            "name": "services",
            "schema": {"@type": "Array", "elementSchema": "date"},
        },
        {
            "@type": "Property",
            "name": "plan",
            "schema": {
                "@type": "Object",
                "fields": [
                    {"name": "every", "schema": "duration"},
                    {"name": "x", "schema": "string"},
                ],
            },
        },
        {"@type": "Component", "name": "drive", "schema": "dtmi:Drive;1"},
        {
            "@type": "Relationship",
            "name": "feeds",
            "properties": [{"@type": "Property", "name": "since", "schema": "dateTime"}],
        },
    ],
}
DRIVE: dict[str, Any] = {
    "@id": "dtmi:Drive;1",
    "@type": "Interface",
    "@context": "dtmi:dtdl:context;3",
    "contents": [{"@type": "Property", "name": "made", "schema": "time"}],
}


def test_members_have_the_types_of_their_models_at_any_depth() -> None:
    with BoltWorld(MemoryStore(), is_open=False) as world, world.connect() as driver:
        world.do(world.graph.models.create_models([MACHINE, DRIVE]))
        driver.execute_query(
            "CREATE (:Machine {`$dtId`: 'm', services: ['2024-02-29'], plan: {every: 'PT5S', "
            "x: 'PT5S'}, drive: {`$metadata`: {}, made: '12:30:00Z'}})-[:feeds {since: "
            "'2024-01-01T00:00:00Z'}]->(:Machine {drive: {`$metadata`: {}}})"
        )
        with pytest.raises(ConstraintError, match=r"services.*date"):
            driver.execute_query("MATCH (m:Machine) SET m.services = ['no date']")
        text = "MATCH p = (m:Machine)-[r]->() RETURN m, [r] AS crossed, p"
        node, (crossed,), path = driver.execute_query(text).records[0]
        assert node["services"] == [Date(2024, 2, 29)]
        assert node["plan"] == {"every": Duration(seconds=5), "x": "PT5S"}
        assert node["drive"]["made"] == Time(12, 30, tzinfo=pytz.UTC)
        moment = DateTime(2024, 1, 1, tzinfo=pytz.UTC)
        assert crossed["since"] == path.relationships[0]["since"] == moment


def test_a_routing_driver_uses_all_nodes_that_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as refused:
        gone = refused.getsockname()[1]
    with BoltWorld(MemoryStore()) as first, BoltWorld(MemoryStore()) as second:
        worlds = (first, second)
        nodes = tuple(f"127.0.0.1:{port}" for port in (*(one.server.port for one in worlds), gone))
        for one in worlds:
            service = one.server.service
            routed = service.settings.model_copy(update={"nodes": nodes})
            one.server.service = replace(service, settings=routed)
        with first.connect("neo4j") as driver, ExitStack() as opened:
            # Each is at the node with the fewest that are open.
            for _ in range(4):
                session = opened.enter_context(driver.session())
                begun = opened.enter_context(session.begin_transaction())
                begun.run("RETURN 1").consume()
        assert [len(one.ran) for one in worlds] == [2, 2]


class _Claims(PermissionProvider):
    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        return frozenset()


def test_an_api_key_is_the_password_and_needs_permissions(tmp_path: Path) -> None:
    keys = ApiKeys(tmp_path / "keys.db")
    _, reader = keys.create("reader", ["query/read"])
    _, writer = keys.create("writer", ["query/*", "digitaltwins/*"])
    key, gone = keys.create("gone", ["query/read"])
    keys.revoke(key.id)
    entries: list[Any] = []
    gate = Gate(ApiKeyAuthenticator(tmp_path / "keys.db"), _Claims(), entries.append)
    with BoltWorld(MemoryStore(), gate) as world:
        for wrong in (None, ("x", "y"), ("x", gone), neo4j.bearer_auth("nonsense")):
            with world.connect(auth=wrong) as driver, pytest.raises(AuthError):
                driver.verify_connectivity()
        with world.connect(auth=("any", reader)) as driver:
            assert driver.execute_query("RETURN 1").records
            for text in ("CREATE (:A)", "MATCH (n) DELETE n"):
                with pytest.raises(ClientError) as caught:
                    driver.execute_query(text)
                assert caught.value.code == "Neo.ClientError.Security.Forbidden"
        with world.connect(auth=("any", writer)) as driver:
            driver.execute_query("CREATE (:A)")
            assert len(driver.execute_query("MATCH (n:A) RETURN n").records) == 1
    assert any(one.allowed and one.needed == "digitaltwins/write" for one in entries)
    assert any(not one.allowed and one.needed == "query/write" for one in entries)


def test_a_certificate_makes_it_tls(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.chain, made.key)
    with BoltWorld(MemoryStore(), context=context) as world:
        trust = neo4j.TrustCustomCAs(str(made.authority))
        with world.connect(encrypted=True, trusted_certificates=trust) as driver:
            assert driver.execute_query("RETURN 1").records
        with world.dial() as plain:
            plain.socket.sendall(MAGIC + bytes(16))
            assert not plain.receive(4).startswith(b"\x00\x00\x00\x05")


def test_an_encrypted_scheme_does_not_talk_to_a_plain_server(world: BoltWorld) -> None:
    with world.connect("bolt+ssc") as driver, pytest.raises(ServiceUnavailable):
        driver.verify_connectivity()
