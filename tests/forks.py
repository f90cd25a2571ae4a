"""Starts `python -m twinframe` in tests, and code, as a fork of a process that has loaded our code.

PERF: loading takes 0.8 s of a processor, and the tests start hundreds of services; a fork takes
0.05 s. What starts is the same command in a process of its own, a child of the test process. A test
that changes more than settings (`PYTHONPATH`, `TZ`, limits) gets a new interpreter; with
`TWINFRAME_FORKS=0` every test does.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, AnyStr, Final

_LOADED: Final = (
    "twinframe.cli.serve",
    "twinframe.cli.mcp",
    "twinframe.cli.control",
    "twinframe.cli.auth_server",
    "twinframe.cli.import_",
    "twinframe_storage_sqlite.plugin",
    "twinframe_columns.plugin",
    "twinframe_storage_rdf.plugin",
)
PATIENCE: Final = 120.0  # seconds, as in `tests.waiting`: as a program, this imports no tests
_COMMAND: Final = [sys.executable, "-m", "twinframe"]
CODE: Final = [sys.executable, "-X", "forked", "-c"]
"""Before code that may run where modules are loaded already; an interpreter does not heed `-X`."""
_MOST: Final = 1 << 17  # bytes of the arguments and the environment of a start
_SET_CHILD_SUBREAPER: Final = 36
_Popen: Final = subprocess.Popen


def fork_programs() -> None:
    """From now on, `subprocess` forks what it can."""
    if hasattr(os, "pidfd_open") and os.environ.get("TWINFRAME_FORKS") != "0":
        source.environment = dict(os.environ)
        subprocess.Popen = Program  # type: ignore[misc]


class _Source:
    """The process that forks, started at the first need, and again in a fork of this process."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self.process = 0
        self._lock = threading.Lock()
        self._ours: socket.socket | None = None
        self._owner = 0

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether a fork differs from a new interpreter by nothing but settings."""
        pairs = environment.items() ^ self.environment.items()
        return all("__" in name or name.startswith("PYTEST_") for name, _ in pairs)

    def fork(self, order: tuple[object, ...], files: list[int]) -> int:
        """The process id of a fork that obeys `order`, as a child of this process."""
        with self._lock:
            if self._ours is None or self._owner != os.getpid():
                self._ours, self._owner = self._start(), os.getpid()
            try:
                return self._ask(self._ours, order, files)
            except BaseException:  # what it would say next is not known: begin anew
                self._ours.close()
                self._ours = None
                raise

    @staticmethod
    def _ask(ours: socket.socket, order: tuple[object, ...], files: list[int]) -> int:
        prctl = ctypes.CDLL(None).prctl
        socket.send_fds(ours, [pickle.dumps(order)], files)
        if not (told := ours.recv(20)):
            raise OSError(f"{order[:2]} did not start; why is in the output of the test process")
        # What its parent leaves when that ends becomes a child of this process.
        prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            ours.send(b"end")
            ours.recv(20)
        finally:
            prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        return int(told)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno())]
        with theirs:
            # NOTE: numpy begins threads otherwise, and a process with threads cannot fork.
            environment = {**self.environment, "OPENBLAS_NUM_THREADS": "1"}
            process = _Popen(command, pass_fds=[theirs.fileno()], env=environment)
        ours.settimeout(PATIENCE)
        self.process = process.pid
        process.returncode = 0  # it ends with this process, and nobody waits for it
        return ours


source = _Source()


class Program(_Popen[AnyStr]):
    """A process as `subprocess` has it, forked where that is the same."""

    def _execute_child(self, args: Any, *given: Any) -> None:
        _, preexec_fn, _, pass_fds, folder, env, *_ = given
        pipes = given[9:15]
        new_session, group = given[-2:]
        environment = dict(os.environ if env is None else env)
        words = [os.fspath(word) for word in args] if isinstance(args, list | tuple) else []
        code = words[: len(CODE)] == CODE
        alike = (code or words[:3] == _COMMAND) and not (preexec_fn or pass_fds or group != -1)
        if not alike or not source.fits(environment):
            super()._execute_child(args, *given)  # type: ignore[misc]
            return
        words = words[3:] if code else words[1:]
        order = (words, str(Path(folder or ".").absolute()), environment, new_session)
        files = [pipes[0], pipes[3], pipes[5]]
        files = [own if file == -1 else file for own, file in enumerate(files)]
        self.pid = source.fork(order, files)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _serve(theirs: socket.socket) -> list[str] | None:
    """Fork for each order; in a fork, the arguments that it runs with."""
    while True:
        data, files, _, _ = socket.recv_fds(theirs, _MOST, 3)
        if not data:
            return None
        reading, ready = os.pipe()
        waiting, end = os.pipe()
        first = os.fork()
        if first == 0:
            os.close(end)
            if os.fork():
                os.close(ready)
                os.read(waiting, 1)
                os._exit(0)
            for each in (reading, waiting, theirs.detach()):
                os.close(each)
            return _become(pickle.loads(data), files, ready)  # noqa: S301  (of our own process)
        for each in (ready, waiting, *files):
            os.close(each)
        if not (told := os.read(reading, 20)):
            return None
        theirs.send(told)
        theirs.recv(20)
        os.close(end)
        os.close(reading)
        os.waitpid(first, 0)
        theirs.send(b"ended")


def _become(
    order: tuple[list[str], str, dict[str, str], bool], files: list[int], ready: int
) -> list[str]:
    arguments, folder, environment, new_session = order
    if new_session:
        os.setsid()
    os.chdir(folder)
    sys.path[0] = folder
    os.environ.clear()
    os.environ.update(environment)
    for own, file in enumerate(files):
        os.dup2(file, own)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.write(ready, str(os.getpid()).encode())
    os.close(ready)
    return arguments


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _LOADED:
        with suppress(ImportError):  # a plugin that is not installed
            import_module(name)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a process with threads cannot fork"
    gc.collect()
    gc.freeze()
    arguments = _serve(socket.socket(fileno=int(sys.argv[1])))
    if arguments is not None:
        gc.unfreeze()
        kind, *sys.argv = arguments
        if kind == "-c":
            code, sys.argv[0] = sys.argv[0], kind
            main = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), main.__dict__)  # noqa: S102  (that of a test)
        else:
            runpy.run_module("twinframe", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
