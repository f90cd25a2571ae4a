"""Wrappers that turn Python functions into entries of the function registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from twinframe.model.values import Value
from twinframe.query.evaluate.run import Run

Function: TypeAlias = Callable[..., Value]
"""Called with the run, then the argument values in order."""


def strict(apply: Callable[..., Value]) -> Function:
    """Wrap a function of its arguments alone that is null as soon as one of them is."""

    def call(run: Run, *arguments: Value) -> Value:
        if None in arguments:
            return None
        return apply(*arguments)

    return call


def strict_with_run(apply: Callable[..., Value]) -> Function:
    """Wrap as `strict`, for a function that takes the run first."""

    def call(run: Run, *arguments: Value) -> Value:
        if None in arguments:
            return None
        return apply(run, *arguments)

    return call


def total(apply: Callable[..., Value]) -> Function:
    """Wrap a function of its arguments alone that handles nulls itself."""

    def call(run: Run, *arguments: Value) -> Value:
        return apply(*arguments)

    return call
