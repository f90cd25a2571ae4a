"""Marks of hosted graphs that may have unfinished work: who leaves them, who takes them away."""

from __future__ import annotations

from pathlib import Path

from tests.waiting import join, start
from twinframe.control.hosting.unfinished import UnfinishedMark, is_left


def test_a_graph_that_is_closed_without_work_leaves_no_mark(tmp_path: Path) -> None:
    mark = UnfinishedMark(tmp_path)
    assert not is_left(tmp_path)
    mark.close(has_work=False)
    assert list(tmp_path.iterdir()) == []


def test_work_that_is_left_is_seen_until_somebody_opens_the_graph(tmp_path: Path) -> None:
    UnfinishedMark(tmp_path).close(has_work=True)
    assert is_left(tmp_path)
    again = UnfinishedMark(tmp_path)
    assert not is_left(tmp_path)
    again.close(has_work=False)
    assert not is_left(tmp_path)


def test_the_mark_stays_while_another_worker_has_the_graph_open(tmp_path: Path) -> None:
    one, other = UnfinishedMark(tmp_path), UnfinishedMark(tmp_path)
    one.close(has_work=False)
    assert len(list(tmp_path.iterdir())) == 1
    assert not is_left(tmp_path)
    other.close(has_work=True)
    assert is_left(tmp_path)


def test_many_who_open_and_close_at_once_leave_nothing(tmp_path: Path) -> None:
    def apply() -> None:
        for _ in range(200):
            UnfinishedMark(tmp_path).close(has_work=False)

    threads = [start(apply) for _ in range(4)]
    join(*threads)
    # The last of them may have been in the way of each other; whoever is alone takes it away.
    UnfinishedMark(tmp_path).close(has_work=False)
    assert list(tmp_path.iterdir()) == []
