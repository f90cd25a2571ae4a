"""The judge of goals: what holds, what fails; nothing passes unseen or by being left out."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.reliability import __main__ as command
from tests.reliability.goals import GOALS
from tests.reliability.judging import (
    Figure,
    Goal,
    NotRun,
    Size,
    Trial,
    Twin,
    at_least,
    at_most,
    exactly,
    told,
)
from tests.reliability.power import ACKNOWLEDGED, Step, build_images
from tests.reliability.running import find_longest, run_goal
from tests.reliability.suites import run_tests
from tests.reliability.table import Row, render_markdown, write_report

TWIN = Twin("a-fault", "a fault", ("lost",))


def build_goal(*twins: Twin, scaled: str = "") -> Goal:
    return Goal("R1", "a goal", "nothing lost", lambda trial: [], twins or (TWIN,), scaled)


def judge_with(
    monkeypatch: pytest.MonkeyPatch, sound: Sequence[Figure], faulty: Sequence[Figure]
) -> Row:
    def judge(goal: Goal, size: Size, fault: str, seed: int) -> Sequence[Figure]:
        del goal, size, seed
        return faulty if fault else sound

    monkeypatch.setattr("tests.reliability.running._judge", judge)
    return run_goal(build_goal(), "smoke", 1, with_goal=True, with_twin=True)


@pytest.mark.parametrize(
    ("figure", "holds"),
    [
        (exactly("lost", 0), True),
        (exactly("lost", 1), False),
        (at_most("ms", 50, 50), True),
        (at_most("ms", 50.1, 50), False),
        (at_least("acks", 10, 10), True),
        (at_least("acks", 9, 10), False),
        (told("load", 99), True),
    ],
)
def test_a_figure_holds_within_its_bound(figure: Figure, holds: bool) -> None:
    assert figure.holds is holds
    assert figure.name in figure.render()


def test_a_goal_holds_when_its_figures_do_and_the_fault_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert judge_with(monkeypatch, [exactly("lost", 0)], [exactly("lost", 3)]).verdict == "held"


def test_a_goal_whose_twin_holds_too_cannot_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    row = judge_with(monkeypatch, [exactly("lost", 0)], [exactly("lost", 0)])
    assert row.verdict == "CANNOT FAIL"


def test_a_twin_that_breaks_another_figure_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = [exactly("lost", 0), exactly("errors", 5)]
    assert judge_with(monkeypatch, [exactly("lost", 0)], faulty).verdict == "CANNOT FAIL"


@pytest.mark.parametrize("sound", [[exactly("lost", 1)], [], [at_least("acks", 1, 2)]])
def test_a_missed_figure_or_none_at_all_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, sound: Sequence[Figure]
) -> None:
    assert judge_with(monkeypatch, sound, [exactly("lost", 1)]).verdict == "FAILED"


def test_each_of_several_twins_has_to_break_what_is_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {"": 0, "a-fault": 3, "another": 0}

    def judge(goal: Goal, size: Size, fault: str, seed: int) -> Sequence[Figure]:
        del goal, size, seed
        return [exactly("lost", found[fault])]

    monkeypatch.setattr("tests.reliability.running._judge", judge)
    goal = build_goal(TWIN, Twin("another", "another fault", ("lost",)))
    row = run_goal(goal, "smoke", 1, with_goal=True, with_twin=True)
    assert (row.verdict, row.note.split(":")[0]) == ("CANNOT FAIL", "another fault")
    found["another"] = 1
    row = run_goal(goal, "smoke", 1, with_goal=True, with_twin=True)
    assert row.verdict == "held"
    assert "a fault: lost 3 (= 0). another fault: lost 1 (= 0)" in row.note


def test_no_run_is_given_up_before_its_goal_is_late() -> None:
    assert all(find_longest(goal) >= goal.longest for goal in GOALS)


def test_a_full_run_of_over_its_longest_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = iter([[exactly("lost", 0)], [exactly("lost", 1)]])
    monkeypatch.setattr("tests.reliability.running._judge", lambda *_: next(faulty))
    goal = replace(build_goal(), longest=-1)
    row = run_goal(goal, "full", 1, with_goal=True, with_twin=True)
    assert row.verdict == "FAILED"
    assert "more than -1" in row.note


@pytest.mark.parametrize(
    ("what", "verdict"),
    [
        ("import time; time.sleep(60)", "the judge hung"),
        ("import sys; sys.exit(7)", "the judge ended with 7"),
    ],
)
def test_a_judge_that_hangs_or_breaks_ends_its_goal_and_no_other(
    what: str, verdict: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "judge"
    script.write_text(f"#!{sys.executable}\n{what}\n")
    script.chmod(0o700)
    monkeypatch.setattr("tests.reliability.running.sys.executable", str(script))
    monkeypatch.setattr("tests.reliability.running.tempfile.mkdtemp", lambda **_: str(tmp_path))
    longest = 0 if "exit" in what else -59.9
    monkeypatch.setattr("tests.reliability.running.find_longest", lambda _: longest)
    row = run_goal(build_goal(), "smoke", 1, with_goal=True, with_twin=True)
    assert row.verdict == "FAILED"
    assert verdict in row.note


def test_what_was_not_run_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(*_: object) -> Sequence[Figure]:
        raise NotRun("no compiler")

    monkeypatch.setattr("tests.reliability.running._judge", judge)
    row = run_goal(build_goal(), "full", 1, with_goal=True, with_twin=True)
    assert (row.verdict, row.note) == ("NOT RUN", "no compiler")


def test_each_goal_has_a_number_of_its_own_and_a_fault_that_breaks_something() -> None:
    assert [goal.id for goal in GOALS] == [f"R{number}" for number in range(1, 40)]
    assert all(goal.asked and goal.twins for goal in GOALS)
    twins = [twin for goal in GOALS for twin in goal.twins]
    assert all(twin.fault and twin.breaks and twin.seeds for twin in twins)
    assert len({goal.title for goal in GOALS}) == len(GOALS)


def test_goals_are_chosen_by_name_or_by_size() -> None:
    assert [goal.id for goal in command.choose_goals("r6,R1", smoke=False)] == ["R1", "R6"]
    assert len(command.choose_goals("", smoke=False)) == len(GOALS)
    assert 0 < len(command.choose_goals("", smoke=True)) < len(GOALS)
    with pytest.raises(SystemExit, match="no goal R99"):
        command.choose_goals("R99", smoke=False)


def test_the_table_is_written_with_every_row(tmp_path: Path) -> None:
    figures = [exactly("lost | torn", 1)]
    goal = build_goal(scaled="a tenth")
    row = Row(goal, "FAILED", figures, [(TWIN, figures)], 1.5, 0.5, 0.2, "not as asked")
    said = write_report([row], tmp_path, "report")
    assert "1 FAILED in 2 s" in said
    table = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "lost \\| torn 1 (= 0)" in table
    assert "nothing lost (scaled: a tenth)" in table
    assert (tmp_path / "report.json").exists()
    assert render_markdown([]).count("\n| ---") == 1


def test_a_run_of_some_goals_leaves_the_table_of_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(goal: Goal, *_: object, **__: object) -> Row:
        return Row(goal, "held", [], [], 1.0, 1.0, 0.0, "")

    monkeypatch.setattr(command, "run_goal", run)
    for options, stem in ((["--only", "R1"], "some"), ([], "report"), (["--smoke"], "smoke")):
        monkeypatch.setattr(sys, "argv", ["reliability", "--report", str(tmp_path), *options])
        assert command.main() == 0
        assert (tmp_path / f"{stem}.md").exists()
    assert (tmp_path / "report.md").read_text().count("\n| R") == len(GOALS)


def test_goals_that_are_judged_at_once_are_all_told_in_the_order_of_the_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    meeting = threading.Barrier(2)
    first = threading.Event()

    def run(goal: Goal, *_: object, **__: object) -> Row:
        meeting.wait(60)  # broken unless two are there at once
        if goal.id == "R1":  # ends last
            assert first.wait(120)
        first.set()
        return Row(goal, "held", [], [], 1.0, 1.0, 0.0, "")

    monkeypatch.setattr(command, "run_goal", run)
    options = ["--only", "R1,R6", "--at-once", "2", "--report", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["reliability", *options])
    assert command.main() == 0
    table = (tmp_path / "some.md").read_text(encoding="utf-8")
    assert -1 < table.index("\n| R1 ") < table.index("\n| R6 ")


def test_a_judge_that_cannot_go_on_ends_a_run_of_several_at_once() -> None:
    def judge(goal: Goal) -> Row:
        raise OSError(goal.id)

    with pytest.raises(OSError, match="R1"):
        list(command.run_goals([build_goal(), build_goal()], judge, 2))


def test_what_tests_recorded_is_read_and_a_broken_run_of_them_is_none(tmp_path: Path) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('count', [2, 5])\n"
        "def test_some(count, record_property):\n    record_property('kills', count)\n"
        "def test_other():\n    pytest.skip('no')\n"
    )
    trial = Trial(tmp_path, "smoke")
    outcome = run_tests(trial, [str(tests)])
    assert (outcome.passed, outcome.failed, outcome.skipped) == (2, 0, 1)
    assert (outcome.measured, outcome.largest) == ({"kills": 7.0}, {"kills": 5.0})
    with pytest.raises(RuntimeError, match="pytest ended with 5"):
        run_tests(trial, [str(tests)], {}, "-k", "nothing")


def test_what_was_synced_is_in_every_image_and_what_was_not_may_be_missing() -> None:
    old, new = b"a" * 1024, b"b" * 1024
    steps = [
        Step(1, "log", old, 0),
        Step(2, "log", b"", 0),
        Step(ACKNOWLEDGED, "key", b"", 7),
        Step(1, "log", new, 1024),
    ]
    images = list(build_images(steps, 4, 60, seed=3))
    assert {image.files["log"][:1024] for image in images} == {old}
    assert all(image.acknowledged == {"key": 7} for image in images)
    rests = {len(image.files["log"]) - 1024 for image in images}
    assert rests == {0, 512, 1024}


def test_a_sync_of_one_file_says_nothing_of_another() -> None:
    steps = [Step(1, "log", b"x" * 512, 0), Step(2, "other", b"", 0)]
    images = list(build_images(steps, 2, 40, random.Random(1).randrange(99)))
    assert {image.files["log"] for image in images} == {b"", b"x" * 512}
