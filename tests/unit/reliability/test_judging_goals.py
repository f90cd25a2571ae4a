"""The judge of goals: what holds, what fails; nothing passes unseen or by being left out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.reliability import __main__ as command
from tests.reliability.goals import GOALS
from tests.reliability.judging import Figure, Goal, NotRun, Size, at_least, at_most, exactly, told
from tests.reliability.power import ACKNOWLEDGED, Step, build_images
from tests.reliability.running import run_goal
from tests.reliability.table import Row, render_markdown, write_report


def build_goal(breaks: tuple[str, ...] = ("lost",)) -> Goal:
    return Goal("R1", "a goal", "nothing lost", lambda trial: [], "a-fault", "a fault", breaks)


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


def test_what_was_not_run_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(*_: object) -> Sequence[Figure]:
        raise NotRun("no compiler")

    monkeypatch.setattr("tests.reliability.running._judge", judge)
    row = run_goal(build_goal(), "full", 1, with_goal=True, with_twin=True)
    assert (row.verdict, row.note) == ("NOT RUN", "no compiler")


def test_each_goal_has_a_number_of_its_own_and_a_fault_that_breaks_something() -> None:
    assert [goal.id for goal in GOALS] == [f"R{number}" for number in range(1, 25)]
    assert all(goal.fault and goal.breaks and goal.seeds and goal.asked for goal in GOALS)
    assert len({goal.title for goal in GOALS}) == 24


def test_goals_are_chosen_by_name_or_by_size() -> None:
    assert [goal.id for goal in command.choose_goals("r6,R1", smoke=False)] == ["R1", "R6"]
    assert len(command.choose_goals("", smoke=False)) == 24
    assert 0 < len(command.choose_goals("", smoke=True)) < 24
    with pytest.raises(SystemExit, match="no goal R99"):
        command.choose_goals("R99", smoke=False)


def test_the_table_is_written_with_every_row(tmp_path: Path) -> None:
    row = Row(build_goal(), "FAILED", [exactly("lost | torn", 1)], [], 1.5, 0.2, "not as asked")
    said = write_report([row], tmp_path, smoke=False)
    assert "1 FAILED" in said
    assert "lost \\| torn 1 (= 0)" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert (tmp_path / "report.json").exists()
    assert render_markdown([]).count("\n| ---") == 1


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
