"""What every use case of the control plane works with: records, a clock, kept answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from twinframe.control.idempotency import Idempotency
from twinframe.model.clock import Clock, read_clock
from twinframe.storage.control_runner import ControlRunner


@dataclass(frozen=True, slots=True)
class ControlContext:
    """Shared by the use cases of one control plane. It holds nothing that must be closed."""

    runner: ControlRunner
    clock: Clock = read_clock
    idempotency: Idempotency = field(default_factory=Idempotency)
