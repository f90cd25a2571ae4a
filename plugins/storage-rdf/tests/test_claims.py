"""Turns by claims: one writer at a time, and none is stopped for ever by one that died."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.waiting import join, start
from twinframe.errors import StorageBusy, StorageError
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.factories import build_twin_record
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.engine import Change, Guard
from twinframe_storage_rdf.engines.claims import Claims
from twinframe_storage_rdf.engines.sparql import SparqlEngine
from twinframe_storage_rdf.mapping import GraphNames, Triple
from twinframe_storage_rdf.products import STANDARD
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.terms import Iri

STATE = GraphNames("default").state
LEASE = 0.2
REVOCATION = 0.4


def build_settings(server: Any, **others: Any) -> RdfSettings:
    return RdfSettings(
        engine="sparql",
        query_url=f"{server.url}/query",
        update_url=f"{server.url}/update",
        **others,
    )


def build_engine(server: Any) -> SparqlEngine:
    store = build_store(build_settings(server), "default")
    assert isinstance(store, RdfStore)
    assert isinstance(store.engine, SparqlEngine)
    store.engine.open()
    return store.engine


@pytest.fixture
def engine(sparql_server: Any) -> Iterator[SparqlEngine]:
    engine = build_engine(sparql_server)
    yield engine
    engine.close()


def build_claims(engine: SparqlEngine, revocation: float = REVOCATION) -> Claims:
    return Claims(STATE, engine.select, engine._write, lease=LEASE, revocation=revocation)


def soon(seconds: float = 60.0) -> float:
    return time.monotonic() + seconds


def build_first_change() -> Change:
    marker: Triple = (Iri(f"{STATE}:0"), v.WRITE_ID, "mark")
    guard = Guard(STATE, STATE, v.VERSION, None)
    return Change(guard, marker, [], [(STATE, [marker, (STATE, v.VERSION, 0)])])


def test_nobody_has_the_turn_while_another_has_it(engine: SparqlEngine) -> None:
    first, second = build_claims(engine), build_claims(engine)
    first.take(soon())
    with pytest.raises(StorageBusy):
        second.take(soon(LEASE / 2))


def test_the_turn_is_free_when_it_is_given_back(engine: SparqlEngine) -> None:
    first, second = build_claims(engine), build_claims(engine)
    first.release(first.take(soon()))
    second.release(second.take(soon()))


def test_who_waits_in_vain_leaves_no_claim(engine: SparqlEngine) -> None:
    first, second = build_claims(engine), build_claims(engine)
    claim = first.take(soon())
    with pytest.raises(StorageBusy):
        second.take(soon(LEASE / 2))
    first.release(claim)
    # With a lease that long, a claim of the second would be waited for in vain.
    Claims(STATE, engine.select, engine._write, lease=600, revocation=600).take(soon())


def test_of_many_at_once_each_has_the_turn_alone(sparql_server: Any) -> None:
    inside: list[int] = []
    most: list[int] = []

    def write(number: int) -> None:
        engine = build_engine(sparql_server)
        claims = Claims(STATE, engine.select, engine._write, lease=60, revocation=60)
        for _ in range(5):
            claim = claims.take(soon(30))
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)
            claims.release(claim)
        engine.close()

    threads = [start(write, number) for number in range(4)]
    join(*threads)
    assert most == [1] * 20


def test_the_turn_of_a_writer_that_died_comes_free_after_lease_and_revocation(
    engine: SparqlEngine,
) -> None:
    build_claims(engine).take(soon())
    began = time.monotonic()
    build_claims(engine).take(soon())
    assert time.monotonic() - began >= LEASE + REVOCATION


def test_an_update_of_a_revoked_claim_changes_nothing(engine: SparqlEngine) -> None:
    late = build_claims(engine).take(soon())
    claims = build_claims(engine, revocation=0.0)
    mine = claims.take(soon())
    change = build_first_change()
    engine._write(STANDARD.build_update(change, late).text)
    assert not engine.ask(f"ASK {{ GRAPH <{STATE}> {{ <{STATE}> ?p ?o }} }}")
    engine._write(STANDARD.build_update(change, mine).text)
    assert engine.ask(f"ASK {{ GRAPH <{STATE}> {{ <{STATE}> ?p ?o }} }}")


def test_after_a_write_without_an_answer_nobody_writes_until_it_must_be_over(
    sparql_server: Any,
) -> None:
    stores = [
        build_store(build_settings(sparql_server, timeout=timeout), "default")
        for timeout in (1.0, 3.0)
    ]
    for store in stores:
        store.open()
    put(stores[0], build_twin_record("a"))
    sparql_server.fault = lambda path, text: "slow" if "INSERT {" in text else ""
    with pytest.raises(StorageError):
        put(stores[0], build_twin_record("b"))
    sparql_server.fault = lambda path, text: ""
    began = time.monotonic()
    put(stores[1], build_twin_record("c"))
    assert time.monotonic() - began >= 3.0
    with reading(stores[0]) as session:
        assert session.has_twin("c")
    for store in stores:
        assert list(store.verify()) == []
        store.close()
