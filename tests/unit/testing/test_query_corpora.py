"""The texts that query engines are held to the law by: none is left out unnoticed."""

from __future__ import annotations

from twinframe.testing.query_templates import build_each


def test_each_template_meets_each_choice_also_those_that_come_once() -> None:
    found = list(build_each("<a>", "<a> <b>", "c", a=(x for x in "12"), b=iter("34")))
    assert found == ["1", "2", "1 3", "1 4", "2 3", "2 4", "c"]
