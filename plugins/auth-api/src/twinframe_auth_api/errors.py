"""What may go wrong between this plugin and a service. None of it ever leaves the plugin."""

from __future__ import annotations


class AnswerRefusedError(Exception):
    """There is no answer, or none that can be trusted; the text says why, for the log."""


class UserRefusedError(AnswerRefusedError):
    """The service is well, and knows no permissions of this one user."""
