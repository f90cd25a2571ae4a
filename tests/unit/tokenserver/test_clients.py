"""Clients of the token server: secrets, rotation with and without overlap, no enumeration."""

from __future__ import annotations

import hmac
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from tests.forks import CODE
from twinframe.errors import NotFound
from twinframe.tokenserver.clients import FILE, Clients


@pytest.fixture
def clients(tmp_path: Path) -> Clients:
    return Clients(tmp_path)


def test_a_client_is_what_was_registered(clients: Clients, tmp_path: Path) -> None:
    made, secret = clients.add(
        "demo", ["models/*", "digitaltwins/read"], ["mcp:tools"], ["twinframe"]
    )
    assert clients.list_clients() == [made]
    assert Clients(tmp_path).authenticate(made.id, secret) == made
    assert made.permissions == ("digitaltwins/read", "models/*")
    assert (made.scopes, made.audiences) == (("mcp:tools",), ("twinframe",))


def test_a_wrong_secret_and_that_of_another_client_are_refused(clients: Clients) -> None:
    one, first = clients.add("one")
    two, second = clients.add("two")
    assert clients.authenticate(one.id, second) is None
    assert clients.authenticate(two.id, first) is None
    assert clients.authenticate(one.id, "") is None
    assert clients.authenticate(one.id, first + "0") is None
    assert clients.authenticate("", first) is None
    assert clients.authenticate("' OR 1=1 --", first) is None
    assert clients.authenticate(one.id.upper(), first) is None


def test_the_secret_is_in_no_file_and_the_files_are_private(
    clients: Clients, tmp_path: Path
) -> None:
    _made, secret = clients.add("one")
    clients.list_clients()
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert secret.encode() not in file.read_bytes()
        assert bytes.fromhex(secret) not in file.read_bytes()


def test_rotation_ends_the_old_secret_at_once_unless_an_overlap_is_asked_for(
    clients: Clients,
) -> None:
    made, old = clients.add("one")
    new = clients.rotate(made.id)
    assert clients.authenticate(made.id, old) is None
    assert clients.authenticate(made.id, new) is not None


def test_an_overlap_ends_on_its_second(tmp_path: Path) -> None:
    now = [1000.0]
    clients = Clients(tmp_path, clock=lambda: now[0])
    made, first = clients.add("one")
    second = clients.rotate(made.id, overlap=60)
    now[0] = 1059.9
    assert clients.authenticate(made.id, first) is not None
    assert clients.authenticate(made.id, second) is not None
    now[0] = 1060.0
    assert clients.authenticate(made.id, first) is None
    assert clients.authenticate(made.id, second) is not None


def test_a_second_rotation_ends_the_oldest_secret_though_its_overlap_runs(
    clients: Clients,
) -> None:
    made, first = clients.add("one")
    second = clients.rotate(made.id, overlap=600)
    third = clients.rotate(made.id, overlap=600)
    valid = [clients.authenticate(made.id, text) is not None for text in (first, second, third)]
    assert valid == [False, True, True]


def test_a_removed_client_is_refused_by_who_had_read_it_before(
    clients: Clients, tmp_path: Path
) -> None:
    server = Clients(tmp_path)
    made, secret = clients.add("one")
    assert server.authenticate(made.id, secret) is not None
    clients.remove(made.id)
    assert server.authenticate(made.id, secret) is None
    assert server.list_clients() == []


@pytest.mark.parametrize("exists", [True, False])
def test_an_unknown_client_is_told_to_the_operator(
    clients: Clients, tmp_path: Path, *, exists: bool
) -> None:
    if exists:
        clients.add("one")
    with pytest.raises(NotFound, match="client list"):
        clients.rotate("nobody")
    with pytest.raises(NotFound, match="client list"):
        clients.remove("nobody")
    assert (tmp_path / FILE).exists() is exists


def test_an_unknown_client_takes_the_work_of_a_known_one(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _secret = clients.add("one")
    rotated, _old = clients.add("two")
    clients.rotate(rotated.id, overlap=60)
    compared: list[int] = []
    compare = hmac.compare_digest

    def count(left: bytes, right: bytes) -> bool:
        compared.append(len(right))
        return compare(left, right)

    monkeypatch.setattr(
        "twinframe.access.authentication.credentials_file.hmac.compare_digest", count
    )
    work = []
    for client_id in (made.id, rotated.id, "nobody"):
        compared.clear()
        assert clients.authenticate(client_id, "wrong") is None
        work.append(list(compared))
    assert work == [[32, 32]] * 3


ADD = """
import sys
from pathlib import Path
from twinframe.tokenserver.clients import Clients
clients = Clients(Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    made, secret = clients.add("one")
    print(made.id, secret, flush=True)
"""


def run_additions(directory: Path, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*CODE, ADD, str(directory), str(count)], stdout=subprocess.PIPE)


def test_two_processes_that_add_lose_no_client(clients: Clients, tmp_path: Path) -> None:
    processes = [run_additions(tmp_path, 10) for _ in range(2)]
    printed = b"".join(process.communicate(timeout=120)[0] for process in processes)
    pairs = [line.split() for line in printed.decode().splitlines()]
    assert len(pairs) == 20
    assert all(clients.authenticate(*pair) for pair in pairs)


def test_every_client_whose_secret_was_printed_survives_a_kill(
    clients: Clients, tmp_path: Path
) -> None:
    for round_ in range(5):
        process = run_additions(tmp_path, 10_000)
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(3)]
        time.sleep(0.003 * round_)
        process.send_signal(signal.SIGKILL)
        printed += process.stdout.read().splitlines(keepends=True)
        process.stdout.close()
        process.wait(120)
        for line in printed:
            if line.endswith(b"\n"):
                assert clients.authenticate(*line.decode().split()) is not None
    made, secret = clients.add("after")
    assert clients.authenticate(made.id, secret) == made
