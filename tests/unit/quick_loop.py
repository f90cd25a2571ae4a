"""An event loop whose time is its own: what waits for a second waits for none of the machine's."""

from __future__ import annotations

import asyncio


class QuickLoop(asyncio.SelectorEventLoop):
    """A loop whose time goes on when there is nothing else to do, at once. It knows no threads."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        select = self._selector.select  # type: ignore[attr-defined]  # asyncio's own

        def select_at_once(timeout: float | None = None) -> object:
            self.now += timeout or 0.0
            return select(0)

        self._selector.select = select_at_once  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now
