"""Starts a process for a long job of the service's own graph, and waits for its end."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from twinframe.errors import StorageError
from twinframe.graph.background.leases import Lease
from twinframe.settings import Configuration, Section, Settings
from twinframe.settings.shape import KeyPath

_LOOK_SECONDS: Final = 0.05
_MODULE: Final = "twinframe.service.job_worker"


@dataclass(frozen=True, slots=True)
class JobOrder:
    """What the process needs: the settings in force, the job's key and its lease.

    `parent` is the process that waits for it.
    """

    settings: Settings
    sections: Mapping[KeyPath, Section]
    key: str
    lease: Lease
    parent: int


class JobProcess:
    """Runs jobs in processes of their own, with the settings of this one.

    Its transactions check the lease, which the caller keeps, as those of the caller would. A job
    continues after its last transaction, so that the process may be killed at any time.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    async def run(self, key: str, lease: Lease) -> None:
        """Run the job to its end. The process ends with this call, however that ends.

        Raises `StorageError` if the process ends before the job, `OSError` if it cannot start.
        """
        process = self._start(key, lease)
        try:
            while process.poll() is None:  # noqa: ASYNC110  (nothing tells of its end)
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            raise StorageError(
                f"The process of the job {key} ended with {process.returncode} before the job did; "
                "the lines above say why."
            )

    def _start(self, key: str, lease: Lease) -> subprocess.Popen[bytes]:
        """Start it from the thread of the event loop, with which it ends."""
        configuration = self._configuration
        sections = dict(configuration.sections)
        order = JobOrder(configuration.settings, sections, key, lease, os.getpid())
        process = subprocess.Popen(  # noqa: S603  (our own module)
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # signals of a terminal are for the arbiter
        )
        assert process.stdin is not None  # noqa: S101  # it is a pipe
        with suppress(BrokenPipeError), process.stdin as pipe:  # then it has ended already
            pipe.write(pickle.dumps(order))
        return process
