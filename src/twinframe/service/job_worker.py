"""The process of a long job: `python -m twinframe.service.job_worker`, with a `JobOrder` as input.

It exits with 0 when the job has ended, however it did, and with 1 when another process has to
continue it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import pickle
import signal
import sys

import uvloop

from twinframe.errors import TwinframeError
from twinframe.hooks.installation import build_installation
from twinframe.runtime.process import set_up_process
from twinframe.service.instruments import InstrumentService
from twinframe.service.job_process import JobOrder
from twinframe.service.logs import configure_logging
from twinframe.service.memory import build_account
from twinframe.service.opening import StoreService, build_graph

_log = logging.getLogger(__name__)


async def run(order: JobOrder) -> None:
    """Run the job. Raises `StorageError` and `LeaseLost`."""
    installation = build_installation(order.settings, order.sections)
    memory = build_account(order.settings)
    metrics = InstrumentService(order.settings).metrics
    store = StoreService(installation.build_store(), order.settings, metrics)
    await store.start()
    try:
        graph = build_graph(installation, store, memory=memory)
        await graph.jobs.run(order.key, order.lease)
    finally:
        await store.stop()
        if metrics is not None:
            metrics.close()


def main() -> None:
    """Run the job that the standard input describes."""
    order: JobOrder = pickle.load(sys.stdin.buffer)  # noqa: S301  # from the worker that started it
    set_up_process(order.parent, signal.SIGKILL)
    gc.freeze()
    if sys.platform == "linux":
        # PERF: it must not interrupt the workers each time a chunk or the writer lock is ready.
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    configure_logging(order.settings.logging)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run(order))
    except TwinframeError as error:
        _log.warning("The process %d of a job ends: %s", os.getpid(), error.message)
        sys.exit(1)


if __name__ == "__main__":
    main()
