"""The published permission contract passes a good provider and finds those that break it."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

PROVIDERS = '''
import asyncio
import logging
from contextlib import asynccontextmanager

from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.testing.permission_contract import PermissionProviderContract


class Listed(PermissionProvider):
    """What a dictionary states; None instead of one is a source that fails."""

    def __init__(self, grants):
        self.grants = grants

    async def read_permissions(self, caller):
        await asyncio.sleep(0)
        return self.read_stated(caller.subject)

    def read_stated(self, subject):
        if self.grants is None:
            logging.getLogger("listed").warning("no source")
            return frozenset()
        return self.grants.get(subject, frozenset())


class Silent(Listed):
    async def read_permissions(self, caller):
        return frozenset() if self.grants is None else await super().read_permissions(caller)


class Raising(Listed):
    async def read_permissions(self, caller):
        if self.grants is None:
            raise OSError("no source")
        return await super().read_permissions(caller)


class FallingBack(Listed):
    async def read_permissions(self, caller):
        if self.grants is None:
            return frozenset({"digitaltwins/read"})
        return await super().read_permissions(caller)


class Generous(Listed):
    async def read_permissions(self, caller):
        return self.read_stated(caller.subject.strip().lower())


class Believing(Listed):
    async def read_permissions(self, caller):
        subject = caller.claims.get("sub", caller.subject)
        return self.read_stated(str(subject))


class Encoding(Listed):
    async def read_permissions(self, caller):
        return self.read_stated(caller.subject.encode().decode())


class Sized(Listed):
    def __len__(self):
        return 0


class Mixing(Listed):
    """Keeps the caller in itself while it waits."""

    async def read_permissions(self, caller):
        self.caller = caller
        await asyncio.sleep(0)
        return await super().read_permissions(self.caller)


class Sharing(Listed):
    """Lets the first who asks call for all, and a cancellation of it reach all."""

    task = None

    async def read_permissions(self, caller):
        if self.task is None or self.task.done():
            self.task = asyncio.ensure_future(super().read_permissions(caller))
        return await self.task


class Contract(PermissionProviderContract):
    @asynccontextmanager
    async def open_provider(self, grants):
        yield self.provider(grants)

    @asynccontextmanager
    async def failing(self):
        yield self.provider(None), Caller("ann")

    def open_failing(self):
        return {"no source": self.failing}


for provider in Listed.__subclasses__() + [Listed]:
    name = f"Test{provider.__name__}"
    globals()[name] = type(name, (Contract,), {"provider": provider})
'''

FAILING = "a_failing_source_grants_nothing_and_is_logged"
HOSTILE = "a_hostile_subject_is_answered_and_is_nobody_else"
BROKEN = {
    "Silent": {FAILING},
    "Raising": {FAILING},
    "FallingBack": {FAILING},
    "Generous": {HOSTILE},
    "Encoding": {HOSTILE},
    "Believing": {"hostile_claims_are_answered_and_grant_nothing"},
    "Sized": {"it_is_never_falsy"},
    "Mixing": {"callers_at_the_same_time_get_each_his_own"},
    "Sharing": {
        "callers_at_the_same_time_get_each_his_own",
        "a_caller_who_gives_up_takes_nothing_from_the_others",
    },
}
"""What each provider does not keep; `Listed` keeps all."""


def test_the_contract_finds_just_what_a_provider_does_not_keep(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROVIDERS)
    result = pytester.runpytest_subprocess("-q", "-rf", "-W", "error", "-p", "no:cacheprovider")
    outcomes = result.parseoutcomes()
    found: dict[str, set[str]] = {}
    for line in result.outlines:
        if line.startswith("FAILED "):
            _file, _colons, place = line.partition("::Test")
            name, _colons, test = place.partition("::test_")
            found.setdefault(name, set()).add(test.partition("[")[0].partition(" - ")[0])
    assert found == BROKEN
    assert outcomes.get("errors", 0) == 0
    assert outcomes["passed"] > 20 * (len(BROKEN) + 1)
