"""Starts the process that does the upkeep of many points, and asks it for each part."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from twinframe.errors import StorageError

_MODULE: Final = "twinframe_points.keeping"


class Keeper:
    """Does upkeep in a process, which runs for as long as there is more to do.

    PERF: with it the 99th percentile of reads beside upkeep was 7 and 8 ms, in the worker itself 9
    and 26 ms, and 4 to 9 ms without any, on a machine with other work.

    Killed at any point, it has changed no answer. One object serves one thread at a time.
    """

    def __init__(self, directory: Path, settings: str) -> None:
        """`settings` are those of the points, as JSON in one line."""
        self._directory = directory
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> bool:
        """Do a part of the upkeep; return whether there is more. Raises `StorageError`."""
        try:
            answer = self._ask()
        except OSError as error:
            self.end()
            raise StorageError(
                f"The upkeep of points in {self._directory} cannot be done in a process of its "
                f"own: {error}."
            ) from error
        if not answer:
            self.end()
            raise StorageError(
                f"The process that keeps up the points in {self._directory} ended before it was "
                "done; the lines above say why. It is started again."
            )
        if answer == b"0":
            self.end()
        return answer == b"1"

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait()

    def _ask(self) -> bytes:
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603  # our own module
                [sys.executable, "-m", _MODULE, str(self._directory), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # signals of a terminal are for the arbiter
            )
            self._send(f"{self._settings}\n".encode())
        self._send(b"\n")
        assert self._process.stdout is not None  # noqa: S101  # it is a pipe
        return self._process.stdout.read(1)

    def _send(self, content: bytes) -> None:
        assert self._process is not None  # noqa: S101  # it was started
        assert self._process.stdin is not None  # noqa: S101  # it is a pipe
        self._process.stdin.write(content)
