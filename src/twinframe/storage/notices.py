"""How a store tells of what other processes have written, so that nobody needs to look often."""

from __future__ import annotations

from collections.abc import Callable


class Notices:
    """Notices of a store. By default there are none."""

    def listen(self, wake: Callable[[], None]) -> bool:
        """Let `wake` be called, in any thread, soon after other processes have appended events.

        Return whether it is now. A notice may be lost, or come without cause: whoever follows also
        looks now and then, and often where this is False. Cheap: call it before each wait, always
        with the same function; `close` ends it.
        """
        del wake
        return False
