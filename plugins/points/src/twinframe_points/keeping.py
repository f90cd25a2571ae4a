"""Upkeep of many points in a process of its own: `python -m twinframe_points.keeping DIRECTORY`.

Its standard input is the settings in a line, then a byte for each part of the upkeep that it is to
do; it answers each with a byte, 1 where there is more. It ends with its input.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Final

from twinframe.errors import TwinframeError
from twinframe.runtime.process import set_up_process
from twinframe_points.settings import PointsSettings
from twinframe_points.store import FilePointStore

_NICENESS: Final = 5


def main(directory: Path, parent: int) -> None:
    """Do what the standard input asks for."""
    set_up_process(parent, signal.SIGKILL)
    os.nice(_NICENESS)
    settings = PointsSettings.model_validate_json(sys.stdin.buffer.readline())
    store = FilePointStore(directory, settings)
    while sys.stdin.buffer.read(1):
        has_more = store.run_upkeep()
        sys.stdout.buffer.write(b"1" if has_more else b"0")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]))
    except TwinframeError as error:
        sys.exit(error.message)
