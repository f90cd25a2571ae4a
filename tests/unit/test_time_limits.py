"""A test that its time limit cannot end ends its process, which says where it hung."""

from __future__ import annotations

import pytest

from tests.shared import ROOT

pytest_plugins = ["pytester"]

SESSION = f"""
import sys
sys.path.append({str(ROOT)!r})
from tests import session
session._GRACE = 0.5
pytest_plugins = ["tests.session"]
"""
HANGS = """
import asyncio, threading, pytest

@pytest.mark.timeout(0.5)
def test_hangs():
    async def main():
        await asyncio.to_thread(threading.Event().wait)
    asyncio.run(main())
"""


def test_a_clean_up_that_hangs_ends_with_all_stacks(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(SESSION)
    pytester.makepyfile(HANGS)
    result = pytester.runpytest_subprocess("-q", "-s", timeout=120)
    assert result.ret == 1
    result.stderr.fnmatch_lines(["Timeout (0:00:01)!", "*in _do_shutdown"])
