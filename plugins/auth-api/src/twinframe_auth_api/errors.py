"""The errors raised inside this plugin when the permission service gives no usable answer."""

from __future__ import annotations


class AnswerRefusedError(Exception):
    """There is no answer, or none that can be trusted; the text says why, for the log."""


class UserRefusedError(AnswerRefusedError):
    """The service works, but knows no permissions of this user."""
