"""The context shared by the use cases of the control plane: record store, clock, stored answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from twinframe.control.records.idempotency import Idempotency
from twinframe.control.records.runner import ControlRunner
from twinframe.model.clock import Clock, read_clock


@dataclass(frozen=True, slots=True)
class ControlContext:
    """Shared by the use cases of one control plane. It needs no closing."""

    runner: ControlRunner
    clock: Clock = read_clock
    idempotency: Idempotency = field(default_factory=Idempotency)
