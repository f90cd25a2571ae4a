"""The account of memory: what is taken and given back, and who is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.waiting import Threads
from twinframe.errors import MemoryExhausted, MemoryLimitExceeded
from twinframe.http.errors import build_answer
from twinframe.runtime.diagnosis.findings import Severity
from twinframe.runtime.diagnosis.machine import read_memory_limit
from twinframe.runtime.instruments.base import Level
from twinframe.runtime.memory import MemoryAccount, Part
from twinframe.service import memory as composition
from twinframe.service.memory import MemoryLevels, build_account, check_memory
from twinframe.settings import Settings

MIB = 1024 * 1024


def test_a_part_that_is_used_up_refuses_and_leaves_the_others_alone() -> None:
    account = MemoryAccount(100, {Part.QUERIES: 60})
    account.take(Part.QUERIES, 40)
    with pytest.raises(MemoryExhausted, match="Memory__Queries"):
        account.take(Part.QUERIES, 30)
    account.take(Part.WRITES, 50)
    assert (account.used, account.refusals) == (90, 1)
    account.give_back(Part.QUERIES, 40)
    account.take(Part.QUERIES, 30)
    assert account.read_held(Part.QUERIES) == 30


def test_all_parts_together_have_a_limit() -> None:
    account = MemoryAccount(100)
    account.take(Part.ANSWERS, 80)
    with pytest.raises(MemoryExhausted, match="Memory__Bytes"):
        account.take(Part.WRITES, 30)
    assert not account.has_room(Part.WRITES, 30)
    assert account.has_room(Part.WRITES, 20)


def test_what_could_never_fit_is_another_error_than_what_does_not_fit_now() -> None:
    account = MemoryAccount(100, {Part.REQUESTS: 50})
    with pytest.raises(MemoryLimitExceeded, match="Memory__Requests") as refused:
        account.take(Part.REQUESTS, 51)
    assert build_answer(refused.value).status == 400
    hold = account.hold(Part.REQUESTS, 30)
    with pytest.raises(MemoryLimitExceeded):
        hold.grow(21)
    account.take(Part.REQUESTS, 10)
    with pytest.raises(MemoryExhausted) as exhausted:
        hold.grow(15)
    answer = build_answer(exhausted.value)
    assert (answer.status, dict(answer.headers)["retry-after"]) == (503, "1")
    assert hold.size == 30


def test_a_hold_gives_all_of_it_back_once() -> None:
    account = MemoryAccount(100)

    def fail() -> None:
        with account.hold(Part.IMPORTS, 10) as hold:
            hold.grow(20)
            hold.shrink(5)
            assert account.used == 25
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    hold = account.hold(Part.IMPORTS, 10)
    hold.release()
    hold.release()
    assert account.used == 0


def test_threads_lose_no_byte() -> None:
    account = MemoryAccount(10**9)

    def apply(_number: int) -> None:
        for _ in range(2000):
            account.take(Part.QUERIES, 7)
            account.give_back(Part.QUERIES, 7)

    with Threads(8) as threads:
        list(threads.map(apply, range(8)))
    assert (account.used, account.read_held(Part.QUERIES), account.refusals) == (0, 0, 0)


def test_the_default_keeps_two_workers_below_a_gibibyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composition, "read_memory_limit", lambda: 64 * 1024 * MIB)
    assert build_account(Settings()).total == (384 - 96) * MIB
    monkeypatch.setattr(composition, "read_memory_limit", lambda: 1024 * MIB)
    account = build_account(Settings())
    assert account.total == (256 - 96) * MIB
    assert account.read_limit(Part.QUERIES) == account.total // 2


def test_a_figure_of_the_operator_is_shared_by_the_workers() -> None:
    settings = Settings.model_validate(
        {"memory": {"bytes_": 4096 * MIB, "imports": 10}, "server": {"workers": 4}}
    )
    account = build_account(settings)
    assert account.total == (1024 - 96) * MIB
    assert account.read_limit(Part.IMPORTS) == account.total // 10


@pytest.mark.parametrize(
    ("machine", "wanted", "severity", "said"),
    [
        (None, 0, Severity.FINE, "384 MiB"),
        (512 * MIB, 0, Severity.FINE, "128 MiB"),
        (256 * MIB, 0, Severity.WARNING, "64 MiB each"),
        (512 * MIB, 600 * MIB, Severity.WARNING, "more than the machine"),
    ],
)
def test_check_says_when_the_machine_is_too_small(
    monkeypatch: pytest.MonkeyPatch,
    machine: int | None,
    wanted: int,
    severity: Severity,
    said: str,
) -> None:
    monkeypatch.setattr(composition, "read_memory_limit", lambda: machine)
    finding = check_memory(Settings.model_validate({"memory": {"bytes_": wanted}}))
    assert finding.severity is severity
    assert said in finding.message


def test_the_memory_of_a_machine_is_that_of_its_narrowest_group(tmp_path: Path) -> None:
    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    assert read_memory_limit(tmp_path) is None
    write("proc/meminfo", "MemTotal:       8000000 kB\nMemFree: 1 kB\n")
    assert read_memory_limit(tmp_path) == 8000000 * 1024
    write("proc/self/cgroup", "0::/system.slice/twins.service\n")
    write("sys/fs/cgroup/system.slice/memory.max", "4000000000\n")
    write("sys/fs/cgroup/system.slice/twins.service/memory.max", "max\n")
    assert read_memory_limit(tmp_path) == 4_000_000_000
    write("sys/fs/cgroup/memory.max", "3000000000\n")
    assert read_memory_limit(tmp_path) == 3_000_000_000
    write("proc/self/cgroup", "5:memory:/docker/abc\n")
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000000\n")
    assert read_memory_limit(tmp_path) == 2_000_000_000


def test_instruments_see_what_each_part_holds() -> None:
    account = MemoryAccount(100)
    account.take(Part.ANSWERS, 7)
    levels = MemoryLevels(account).read_levels()
    assert levels[Level.MEMORY_ANSWERS] == 7
    assert levels[Level.MEMORY_REFUSALS] == 0
