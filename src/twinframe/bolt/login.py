"""The caller of a connection: credentials of LOGON, checked again at each statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from twinframe.access.authentication.api_keys import is_api_key
from twinframe.access.authentication.port import Headers
from twinframe.access.gate import Gate, RequestInfo
from twinframe.access.permission_grammar import parse_permission
from twinframe.access.permissions import Caller
from twinframe.bolt.exchange import TokenExchange
from twinframe.bolt.graphs import Database
from twinframe.bolt.packstream import PackValue
from twinframe.bolt.requests import read_member
from twinframe.errors import BadRequest, Unauthenticated
from twinframe.runtime.instruments.base import CURRENT_SUBJECT

_find_permission: Final = lru_cache(maxsize=64)(parse_permission)
"""PERF: a gate remembers its decisions by the object of the permission."""


class Login:
    """The credentials of one connection. A `gate` of None asks nobody for any."""

    def __init__(
        self,
        gate: Gate | None,
        scopes: tuple[str, ...],
        connection: str,
        address: str,
        exchange: TokenExchange | None = None,
    ) -> None:
        """`connection` and `address` are for the audit log; tokens must carry all `scopes`.

        `exchange` gives tokens to clients with an id and a secret; without it a password is a key.
        """
        self._gate = gate
        self._scopes = scopes
        self._connection = connection
        self._address = address
        self._exchange = exchange
        self._headers: Headers = ()
        self._client: tuple[str, str] | None = None

    def build_info(self, action: str) -> RequestInfo:
        """Return what a message is about, for the audit log."""
        return RequestInfo(f"BOLT {action}", self._connection, self._address)

    async def log_in(self, auth: Mapping[str, PackValue]) -> None:
        """Take credentials, if they count.

        Raises `BadRequest`, `Unauthenticated`, `ScopeMissing`, `LoginUnavailable`.
        """
        self.log_off()
        headers = _build_headers(auth)
        user, secret = (read_member(auth, name, str, "") for name in ("principal", "credentials"))
        is_basic = auth.get("scheme") == "basic" and not is_api_key(secret)
        if is_basic and self._gate is not None and self._exchange is not None:
            self._client = user, secret
            headers = await self._get_token(self._exchange, user, secret)
        self._headers = headers
        await self.identify("LOGON")

    async def _get_token(
        self, exchange: TokenExchange, user: str, secret: str, *, anew: bool = False
    ) -> Headers:
        token = await exchange.fetch(user, secret, self._address, anew=anew)
        return ((b"authorization", b"Bearer " + token.encode()),)

    def log_off(self) -> None:
        """Forget the credentials."""
        self._headers, self._client = (), None

    async def identify(self, action: str) -> Caller | None:
        """Return the caller. SEC: at each statement, since tokens expire and keys are revoked."""
        gate = self._gate
        if gate is None:
            return None
        caller = gate.recall(self._headers)
        if caller is None:
            caller = await self._authenticate(gate, action)
        if self._scopes:
            gate.check_scopes(caller, self._scopes, self.build_info(action))
        CURRENT_SUBJECT.set(caller.shown)
        return caller

    async def _authenticate(self, gate: Gate, action: str) -> Caller:
        """Return the caller; a client's token that has expired is replaced by a new one."""
        try:
            return await gate.authenticate(self._headers, lambda: self.build_info(action))
        except Unauthenticated:
            if self._client is None or self._exchange is None:
                raise
        self._headers = await self._get_token(self._exchange, *self._client, anew=True)
        return await gate.authenticate(self._headers, lambda: self.build_info(action))

    async def authorize(
        self, database: Database, caller: Caller | None, permissions: Iterable[str]
    ) -> None:
        """Raise `PermissionMissing` unless the caller has these permissions at the graph."""
        gate = database.gate
        if gate is None:
            return
        known = database.caller or caller
        if known is None:
            raise Unauthenticated("a statement came without a caller")
        info = self.build_info("RUN")
        for name in permissions:
            needed = _find_permission(name)
            if not gate.authorize_known(known, needed, info):
                known = await gate.admit(known, needed, info)


def _build_headers(auth: Mapping[str, PackValue]) -> Headers:
    """Return the credentials as HTTP has them, for which the gate is made."""
    scheme = read_member(auth, "scheme", str, "none")
    secret = read_member(auth, "credentials", str, "").encode("utf-8", "replace")
    match scheme:
        case "bearer":
            return ((b"authorization", b"Bearer " + secret),)
        case "basic":
            # NOTE: an API key stands alone; a tool's user name says nothing.
            return ((b"x-api-key", secret),)
        case "none":
            return ()
        case _:
            raise BadRequest(
                f"The scheme {scheme[:100]!r} is not known: 'bearer' takes a token, 'basic' an API "
                "key as the password, 'none' nothing."
            )
