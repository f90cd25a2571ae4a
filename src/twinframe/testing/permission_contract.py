"""The contract of permission providers, as tests to inherit.

A provider's test file has a class `TestMyProvider(PermissionProviderContract)` with the methods
`open_provider` and `open_failing`; see there. Providers whose source are the caller's own claims
also override `build_caller`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias, TypeVar

import pytest

from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.model.values import JsonValue

T = TypeVar("T")
Grants: TypeAlias = Mapping[str, frozenset[str]]
OpenFailing: TypeAlias = Callable[
    [], AbstractAsyncContextManager[tuple[PermissionProvider, Caller]]
]

ANN = frozenset({"digitaltwins/read", "models/*"})
BOB = frozenset({"query/read"})
GRANTS: Grants = {"ann": ANN, "bob": BOB, "eve": frozenset()}
"""The permissions in the source in these tests, by subject.

All other subjects are unknown to it.
"""

HOSTILE_SUBJECTS = (
    "",
    ".",
    "..",
    "/",
    "../ann",
    "x/../ann",
    "./ann",
    "ann/",
    "ann/.",
    "//ann",
    "\\ann",
    "ann?",
    "ann#",
    "ann;x",
    "x&userId=ann",
    "ann&userId=x",
    "x?userId=ann",
    "%61nn",
    "%2561nn",
    "ANN",
    " ann",
    "ann ",
    "ann\n",
    "ann\t",
    "ann\x00",
    "\x00ann",
    "ann\r\nX-Sub: ann",
    "a\u0301nn",
    "\uff41nn",
    "\u202eann",
    "ann\ufeff",
    "\ud800",
    "ann\udfff",
    "{userId}",
    "{resourceName}",
    "{0}",
    "%s",
    "*",
    "' OR '1'='1",
    "null",
    "None",
    "ann" * 5000,
    "\U0001f3e2" * 400,
)
"""Subjects that are not `ann`, though careless handling mistakes some of them for it."""

HOSTILE_CLAIMS: tuple[Mapping[str, JsonValue], ...] = (
    {"sub": "ann"},
    {"sub": ["ann"], "userId": "ann", "uid": "ann", "azp": "ann", "client_id": "ann"},
    {"permissions": None},
    {"permissions": {"digitaltwins/read": True}},
    {"permissions": [["digitaltwins/read"]]},
    {"permissions": ["digitaltwins/read", 1]},
    {"permissions": 2**63 - 1},
    {"permissions": True},
    {"Permissions": ["digitaltwins/read"], " permissions": ["digitaltwins/read"]},
    {"permissions\x00": ["digitaltwins/read"], "perm\u0131ssions": ["digitaltwins/read"]},
    {"scope": "digitaltwins/read", "scp": ["digitaltwins/read"], "roles": ["digitaltwins/read"]},
    {"__class__": "admin", "": {"": {"": []}}},
)
"""Claims that state no permissions, in the claim `permissions` or elsewhere."""


class PermissionProviderContract:
    """A provider returns exactly what its source states, and never grants by failing."""

    def open_provider(self, grants: Grants) -> AbstractAsyncContextManager[PermissionProvider]:
        """Open a provider whose source states these permissions by subject, and knows no other
        subject.

        It is closed at the end.
        """
        raise NotImplementedError

    def open_failing(
        self,
    ) -> Mapping[str, OpenFailing]:
        """Return ways in which the source fails, by description: a provider and a caller that meets
        it.

        If the source can be half right, the caller should be one to whom it grants something.
        """
        raise NotImplementedError

    def build_caller(self, subject: str, grants: Grants) -> Caller:
        """The caller of this subject, authenticated by a token."""
        del grants
        return Caller(subject)

    def test_what_the_source_states_is_answered_exactly(self) -> None:
        async def run(provider: PermissionProvider) -> None:
            for subject, permissions in GRANTS.items():
                answer = await provider.read_permissions(self.build_caller(subject, GRANTS))
                assert answer == permissions

        self._run(run)

    def test_who_is_unknown_to_the_source_has_no_permissions(self) -> None:
        async def run(provider: PermissionProvider) -> None:
            answer = await provider.read_permissions(self.build_caller("mallory", GRANTS))
            assert answer == frozenset()

        self._run(run)

    def test_callers_at_the_same_time_get_each_his_own(self) -> None:
        async def run(provider: PermissionProvider) -> None:
            subjects = ["ann", "bob", "eve", "mallory"] * 5
            callers = [self.build_caller(subject, GRANTS) for subject in subjects]
            answers = await asyncio.gather(*map(provider.read_permissions, callers))
            assert answers == [GRANTS.get(subject, frozenset()) for subject in subjects]

        self._run(run)

    @pytest.mark.parametrize("subject", HOSTILE_SUBJECTS, ids=ascii)
    def test_a_hostile_subject_is_answered_and_is_nobody_else(self, subject: str) -> None:
        async def run(provider: PermissionProvider) -> None:
            for _again in range(2):  # a second time, for what the first left behind
                answer = await provider.read_permissions(self.build_caller(subject, GRANTS))
                assert isinstance(answer, frozenset)
                assert answer == frozenset()
            assert await provider.read_permissions(self.build_caller("ann", GRANTS)) == ANN

        self._run(run)

    @pytest.mark.parametrize("claims", HOSTILE_CLAIMS, ids=ascii)
    def test_hostile_claims_are_answered_and_grant_nothing(
        self, claims: Mapping[str, JsonValue]
    ) -> None:
        async def run(provider: PermissionProvider) -> None:
            assert await provider.read_permissions(Caller("mallory", claims)) == frozenset()

        self._run(run)

    def test_claims_nested_as_deep_as_a_token_can_be_are_answered(self) -> None:
        nested: JsonValue = ["digitaltwins/read"]
        for _level in range(4000):
            nested = {"permissions": nested}

        async def run(provider: PermissionProvider) -> None:
            caller = Caller("mallory", {"permissions": nested})
            assert await provider.read_permissions(caller) == frozenset()

        self._run(run)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each way of failing."""
        if "way" in metafunc.fixturenames:
            metafunc.parametrize("way", list(self.open_failing()))

    def test_a_failing_source_grants_nothing_and_is_logged(
        self, way: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def run() -> frozenset[str]:
            async with self.open_failing()[way]() as (provider, caller):
                return await provider.read_permissions(caller)

        assert asyncio.run(run()) == frozenset()
        assert [record for record in caplog.records if record.levelno >= logging.WARNING]

    def test_a_caller_who_gives_up_takes_nothing_from_the_others(self) -> None:
        async def run(provider: PermissionProvider) -> None:
            callers = [self.build_caller("ann", GRANTS) for _each in range(6)]
            tasks = [asyncio.ensure_future(provider.read_permissions(each)) for each in callers]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.wait(tasks)
            assert [task.result() for task in tasks[1::2]] == [ANN] * 3

        self._run(run)

    def test_an_answer_cannot_be_changed_by_who_got_it(self) -> None:
        async def run(provider: PermissionProvider) -> None:
            answer = await provider.read_permissions(self.build_caller("ann", GRANTS))
            assert type(answer) is frozenset
            assert all(type(permission) is str for permission in answer)

        self._run(run)

    def test_it_may_be_closed_twice(self) -> None:
        async def run(provider: PermissionProvider) -> None:
            await provider.read_permissions(self.build_caller("ann", GRANTS))
            await provider.close()
            await provider.close()

        self._run(run)

    def test_it_is_never_falsy(self) -> None:
        async def run(provider: PermissionProvider) -> None:
            # stevedore and pluggy treat a falsy object as missing
            assert not hasattr(type(provider), "__len__")
            assert not hasattr(type(provider), "__bool__")

        self._run(run)

    def _run(self, test: Callable[[PermissionProvider], Coroutine[object, object, T]]) -> T:
        async def run() -> T:
            async with self.open_provider(GRANTS) as provider:
                return await test(provider)

        return asyncio.run(run())
