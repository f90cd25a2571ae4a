"""Provisioners in processes of their own that die or freeze at a named point. It judges nothing.

`python -m tests.e2e.dying_provisioners FOLDER HOST` reads one command a line and forks for each, so
that a process costs milliseconds and not the start of an interpreter. `HOST` is `folder`, or
`graphs` for real ones:

- `kill POINT`: a provisioner that is killed by SIGKILL where it passes that point;
- `freeze POINT`: one that is stopped there; `wake PID` lets it go on and waits for its end;
- `finish`: one that works until nothing is left to do, removes orphans, and ends.

Each answer is a line: the signal or exit code of the process, or the id of a frozen one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.unit.control.resources.fault_points import FaultPoints, kill_process
from tests.unit.control.resources.folder_host import FolderHost
from tests.waiting import PATIENCE
from twinframe.control.hosting.service import LocalGraphHost
from twinframe.control.plane import RECORD_KINDS
from twinframe.control.records.runner import ControlRunner
from twinframe.control.resources.attempts import ProvisionRules
from twinframe.control.resources.documents import RECONCILE_ITEMS
from twinframe.control.resources.provisioner import Provisioner, ProvisionerOptions
from twinframe.control.resources.rounds import RoundIntervals, Rounds
from twinframe.hooks.installation import build_installation
from twinframe.hooks.resource_types.base import ResourceTypeRegistry
from twinframe.hooks.resource_types.hosting import GraphHost
from twinframe.runtime.backoff import Backoff
from twinframe.settings import HostingSettings, Settings
from twinframe.storage.base import Outcome
from twinframe.storage.control import ControlWriteFunction
from twinframe_resource_types.graph import GraphType
from twinframe_storage_sqlite.control_store import SqliteControlStore
from twinframe_storage_sqlite.settings import SqliteSettings

LEASE = 0.3
LONGEST = 30.0
TOO_LONG = 3
INTERVALS = RoundIntervals(health=3600, cleaning=3600)
OPTIONS = ProvisionerOptions(
    concurrency=8,
    poll_interval=0.02,
    lease=LEASE,
    rules=ProvisionRules(max_attempts=100, pause=Backoff(0.05, 0.2)),
    intervals=INTERVALS,
)


def build_store(folder: Path) -> SqliteControlStore:
    """The control records in a folder."""
    return QuietStore(SqliteSettings(directory=str(folder / "control")), "control")


def build_types() -> ResourceTypeRegistry:
    """Graphs alone."""
    return ResourceTypeRegistry([GraphType()])


def build_host(kind: str, folder: Path, faults: Callable[[str], None]) -> GraphHost:
    """A host of files, or the one of a service, which keeps graphs in SQLite."""
    if kind == "folder":
        return FolderHost(folder, faults)
    settings = Settings(hosting=HostingSettings(enabled=True, directory=str(folder / "hosting")))
    sqlite = SqliteSettings(directory=str(folder / "graphs"))
    return LocalGraphHost(build_installation(settings, {("Storage", "Sqlite"): sqlite}))


class QuietStore(SqliteControlStore):
    """A store of which a test knows that no write is under way."""

    turn = threading.Lock()

    def write(self, works: Sequence[ControlWriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Write, unless this process is about to freeze."""
        with self.turn:
            return super().write(works)


class Nursery:
    """The process that forks provisioners, as the test talks to it."""

    def __init__(self, folder: Path, host: str = "folder") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.dying_provisioners", str(folder), host],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parents[2],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=PATIENCE)  # the end of its input is its end
        assert self._process.returncode == 0

    def tell(self, *command: object) -> int:
        """Give a command; its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*command, file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())


def main() -> None:
    """Serve commands until there are no more."""
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    frozen: set[int] = set()
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "wake":
            child = int(arguments[0])
            frozen.remove(child)
            os.kill(child, signal.SIGCONT)
        else:
            child = os.fork()
        if child == 0:
            os._exit(_work(folder, kind, command, *arguments))
        _, status = os.waitpid(child, os.WUNTRACED if command == "freeze" else 0)
        if os.WIFSTOPPED(status):
            frozen.add(child)
        print(child if child in frozen else os.waitstatus_to_exitcode(status), flush=True)
    for child in frozen:  # of a test that failed
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _work(folder: Path, kind: str, command: str, point: str = "") -> int:
    # Time goes on for one that is frozen, while others do all their work.
    longest = 10 * LONGEST if command == "freeze" else LONGEST
    signal.alarm(int(2 * longest))  # whatever it waits for, it does not do so for ever
    actions = {"kill": kill_process, "freeze": _freeze}
    faults = FaultPoints({point: actions[command]} if point else {})
    try:
        # NOTE: one that is to freeze takes over nothing, so that it freezes with one resource and
        # not inside the folder's lock for another.
        options = replace(OPTIONS, lease=1000) if command == "freeze" else OPTIONS
        asyncio.run(asyncio.wait_for(_run(folder, kind, faults, options), longest))
    except TimeoutError:
        return TOO_LONG
    return 0


def _freeze() -> None:
    # NOTE: who freezes inside a write stops all other writers until it goes on or is killed; that
    # is the store's own matter (see its tests), not the one of leases.
    with QuietStore.turn:
        # The signal goes to this very thread, or it would run on for a while.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


async def _run(folder: Path, kind: str, faults: FaultPoints, options: ProvisionerOptions) -> None:
    """Provision until nothing is left to do."""
    store = build_store(folder)
    store.open(RECORD_KINDS)
    runner = ControlRunner(store)
    types, host = build_types(), build_host(kind, folder, faults)
    provisioner = Provisioner(runner, types, host, options, fault=faults)
    running = asyncio.ensure_future(provisioner.run())
    while True:
        items = await runner.read(
            lambda session: RECONCILE_ITEMS.parse_all(session.find(RECONCILE_ITEMS.kind))
        )
        if all(item.due_at is None for item in items):
            break
        await asyncio.sleep(0.01)
    provisioner.stop()
    await running
    await Rounds(runner, types, host, INTERVALS).remove_orphans()
    await runner.close()
    store.close()


if __name__ == "__main__":
    main()
