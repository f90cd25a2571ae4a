"""What long work on the rows of a snapshot waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from tests.waiting import join, start
from twinframe.errors import QueryTimeout
from twinframe.storage.cpu_scheduler import CpuScheduler
from twinframe.testing.contracts.base import put
from twinframe.testing.factories import build_twin_record
from twinframe_storage_rdf import view
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.session import RdfSession
from twinframe_storage_rdf.settings import RdfSettings

_FOREVER = 10**6


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[RdfSession]]:
    """Two, of which one may work at a time from its first moment."""
    store = build_store(RdfSettings(directory=""), "default")
    store.open()
    put(store, build_twin_record("a"))
    scheduler = CpuScheduler(1)
    monkeypatch.setattr(view, "share_scheduler", lambda _: scheduler)
    monkeypatch.setattr(view, "_SECONDS_UNTIL_LONG", -1.0)
    monkeypatch.setattr("twinframe.storage.cpu_scheduler._LAPSE", _FOREVER)
    monkeypatch.setattr("twinframe.storage.cpu_scheduler._SLICE", _FOREVER)
    yield [store.session(), store.session()]
    store.close()


def test_long_work_waits_until_others_have_ended(sessions: list[RdfSession]) -> None:
    went_on = threading.Event()

    def apply() -> None:
        with sessions[1].snapshot(time.monotonic() + _FOREVER):
            sessions[1].check_deadline()
            went_on.set()

    with sessions[0].snapshot(time.monotonic() + _FOREVER):
        sessions[0].check_deadline()
        other = start(apply)
        while not sessions[0]._view._scheduler._waiting:
            time.sleep(0.001)
        assert not went_on.is_set()
    join(other)
    assert went_on.is_set()


def test_while_it_waits_its_deadline_passes(sessions: list[RdfSession]) -> None:
    with sessions[0].snapshot(time.monotonic() + _FOREVER):
        sessions[0].check_deadline()
        with sessions[1].snapshot(time.monotonic() + 0.1), pytest.raises(QueryTimeout):
            sessions[1].check_deadline()


def test_who_asks_the_engine_works_no_more(sessions: list[RdfSession]) -> None:
    with sessions[0].snapshot(time.monotonic() + _FOREVER):
        sessions[0].check_deadline()
        rows = sessions[0].select("SELECT (1 AS ?n) {}")
        with sessions[1].snapshot(time.monotonic() + _FOREVER):
            sessions[1].check_deadline()
        assert list(rows) == [(1,)]


def test_without_a_deadline_nobody_waits(sessions: list[RdfSession]) -> None:
    with sessions[0].snapshot(time.monotonic() + _FOREVER):
        sessions[0].check_deadline()
        with sessions[1].snapshot():
            sessions[1].check_deadline()
