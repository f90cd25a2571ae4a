"""An error that was answered holds nothing any more of what was at work when it was raised."""

from __future__ import annotations

from twinframe.errors import QueryInvalid
from twinframe.http.application import _forget_frames


def raise_both() -> None:
    try:
        int("x")
    except ValueError as error:
        raise QueryInvalid("m") from error


def test_frames_of_an_answered_error_and_its_causes_are_let_go() -> None:
    try:
        raise_both()
    except QueryInvalid as caught:
        error = caught
    cause = error.__cause__
    assert error.__traceback__ is not None
    assert cause is not None
    _forget_frames(error)
    assert error.__traceback__ is None
    assert cause.__traceback__ is None
