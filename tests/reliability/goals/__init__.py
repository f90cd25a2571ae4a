"""The goals R1 to R24 in their order. A module judges one; it starts nothing when it is imported."""

from __future__ import annotations

from typing import Final

from tests.reliability.goals import r01_kill_service, r02_kill_storage, r03_power_loss
from tests.reliability.judging import Goal

GOALS: Final[tuple[Goal, ...]] = (r01_kill_service.GOAL, r02_kill_storage.GOAL, r03_power_loss.GOAL)
