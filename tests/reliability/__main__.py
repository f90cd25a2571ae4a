"""`make reliability`: judges goals one after another and writes one table of them.

`python -m tests.reliability [--only R1,R6] [--smoke] [--twins | --no-twins] [--list]`. A smoke run
asks for no times, so `make` has it judge two goals at once (`--at-once 2`). Exit
code 0 when all that was asked for held and each twin failed; a goal that was not run is no success.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Final

from tests.left_behind import end_with_this_process
from tests.reliability.goals import GOALS
from tests.reliability.judging import ROOT, Goal, Size
from tests.reliability.running import run_goal
from tests.reliability.table import Row, render_row, write_report

REPORTS: Final[dict[Size, str]] = {"full": "report", "smoke": "smoke"}


def main() -> int:
    """Run what was asked for."""
    asked = parse_arguments()
    chosen = choose_goals(asked.only, smoke=asked.smoke)
    if asked.list:
        for goal in chosen:
            print(f"{goal.id:<4}{goal.title}: {goal.asked}")
        return 0
    size: Size = "smoke" if asked.smoke else "full"
    # NOTE: a run of some goals is not told in the place of a run of all.
    stem = "some" if asked.only or asked.twins or asked.no_twins else REPORTS[size]

    def judge(goal: Goal) -> Row:
        print(f"{goal.id} {goal.title} ...\n", end="", flush=True)  # as a whole, beside others
        return run_goal(
            goal, size, asked.seed, with_goal=not asked.twins, with_twin=not asked.no_twins
        )

    end_with_this_process()
    rows: list[Row] = []
    said = ""
    for row in run_goals(chosen, judge, asked.at_once):
        print(render_row(row), flush=True)
        rows = sorted([*rows, row], key=lambda row: chosen.index(row.goal))
        # Each time anew: what was measured is told though the run be ended in the middle.
        said = write_report(rows, Path(asked.report), stem)
    print(said, end="")
    return 0 if all(row.verdict == "held" for row in rows) else 1


def run_goals(
    goals: Sequence[Goal], judge: Callable[[Goal], Row], at_once: int = 1
) -> Iterator[Row]:
    """Yield each row as it is done, of so many goals at once."""
    if at_once == 1:  # in this thread, which is the one that signals end
        yield from map(judge, goals)
        return
    with ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(judge, goal) for goal in goals]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def parse_arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="make reliability", description=__doc__)
    parser.add_argument("--only", default="", help="goals, such as R1,R6")
    parser.add_argument("--smoke", action="store_true", help="the short run of `make check`")
    parser.add_argument("--no-twins", action="store_true", help="do not prove that they can fail")
    parser.add_argument("--twins", action="store_true", help="only prove that they can fail")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--at-once", type=int, default=1, help="goals; times are then not its own")
    parser.add_argument("--seed", type=int, default=1, help="of all random choices")
    parser.add_argument("--report", default=str(ROOT / "var" / "reliability"), help="its folder")
    return parser.parse_args()


def choose_goals(only: str, *, smoke: bool) -> list[Goal]:
    """The goals named, else those of the smoke run, else all."""
    if not only:
        return [goal for goal in GOALS if goal.smoke or not smoke]
    names = {name.strip().upper() for name in only.split(",")}
    known = {goal.id for goal in GOALS}
    if names - known:
        raise SystemExit(
            f"no goal {', '.join(sorted(names - known))}; there are: {', '.join(sorted(known))}"
        )
    return [goal for goal in GOALS if goal.id in names]


if __name__ == "__main__":
    sys.exit(main())
