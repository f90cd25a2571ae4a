"""One run of one judge, in the process of this module: `tests.reliability.running` starts it.

`python -m tests.reliability.one ID SIZE SEED FOLDER [FAULT]` writes `figures.json` into the folder.
"""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from tests.left_behind import end_with_this_process
from tests.reliability.goals import GOALS
from tests.reliability.judging import NotRun, Trial
from tests.reliability.running import NOT_RUN, find_longest


class TookTooLong(Exception):
    """The run was given up, or asked to stop; what was started is stopped on the way."""


def main() -> int:
    """Exit code 0 with figures, `NOT_RUN` with a reason."""
    end_with_this_process()
    name, size, seed, folder, *fault = sys.argv[1:]
    (goal,) = [goal for goal in GOALS if goal.id == name]
    result = Path(folder) / "figures.json"
    work = Path(folder) / "work"
    work.mkdir()
    signal.signal(signal.SIGALRM, _give_up)
    signal.signal(signal.SIGTERM, _give_up)
    signal.alarm(find_longest(goal))
    trial = Trial(work, "full" if size == "full" else "smoke", "".join(fault), int(seed))
    try:
        figures = [asdict(figure) for figure in goal.judge(trial)]
    except NotRun as reason:
        result.write_text(json.dumps({"reason": str(reason)}), encoding="utf-8")
        return NOT_RUN
    result.write_text(json.dumps({"figures": figures}), encoding="utf-8")
    return 0


def _give_up(number: int, frame: FrameType | None) -> None:
    raise TookTooLong(f"signal {number}")


if __name__ == "__main__":
    sys.exit(main())
