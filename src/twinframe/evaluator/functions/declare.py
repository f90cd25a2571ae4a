"""How a scalar function is declared to the registry. It holds no function itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from twinframe.evaluator.run import Run
from twinframe.model.values import Value

Function: TypeAlias = Callable[..., Value]
"""Called with the run, then the argument values in order."""


def strict(apply: Callable[..., Value]) -> Function:
    """A function of its arguments alone that is null as soon as one of them is."""

    def call(run: Run, *arguments: Value) -> Value:
        if None in arguments:
            return None
        return apply(*arguments)

    return call


def strict_with_run(apply: Callable[..., Value]) -> Function:
    """As `strict`, for a function that takes the run first."""

    def call(run: Run, *arguments: Value) -> Value:
        if None in arguments:
            return None
        return apply(run, *arguments)

    return call


def total(apply: Callable[..., Value]) -> Function:
    """A function of its arguments alone that decides about nulls itself."""

    def call(run: Run, *arguments: Value) -> Value:
        return apply(*arguments)

    return call
