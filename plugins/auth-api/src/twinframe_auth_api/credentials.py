"""The credentials sent to the permission service: none, a fixed token, or a token fetched by OAuth
2.0.

NOTE: own code: Authlib's asynchronous client would renew a token too, but on top of another HTTP
client, without bounds on what it reads and with one fetch for each of many simultaneous calls.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from twinframe.model.values import JsonValue
from twinframe_auth_api.client import OK, BoundedClient
from twinframe_auth_api.errors import AnswerRefusedError
from twinframe_auth_api.flights import Flights
from twinframe_auth_api.settings import ApiProviderSettings

_TOKEN = re.compile(r"[!-~]{1,16384}", re.ASCII)
_UNSTATED_LIFETIME = 60.0
_LONGEST_LIFETIME = 24 * 3600.0


class Credentials(ABC):
    """A source of bearer tokens for the calls to the permission service."""

    @abstractmethod
    async def read_token(self) -> str:
        """Return the token to send, empty for none.

        Raises `AnswerRefusedError` if there is none to be had.
        """

    def forget(self, token: str) -> bool:
        """Drop `token`, which the service refused; return whether another attempt may get a better
        one.
        """
        return False

    async def close(self) -> None:  # noqa: B027
        """Cancel a fetch that is under way."""


class FixedToken(Credentials):
    """A token from the settings; empty for none."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def read_token(self) -> str:
        """Return the token from the settings."""
        return self._token


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    until: float


class ClientCredentials(Credentials):
    """Gets tokens by the client credentials grant (RFC 6749, section 4.4), one fetch at a time.

    A token serves until a tenth of its lifetime, at most a minute, is left. SPEC: `expires_in` is
    only recommended (section 5.1); a token without it serves for a minute.
    """

    def __init__(
        self,
        client: BoundedClient,
        settings: ApiProviderSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._url = settings.token_endpoint
        self._form = {
            "grant_type": "client_credentials",
            "client_id": settings.client_id,
            "client_secret": settings.client_secret.get_secret_value(),
        }
        if settings.audience:
            self._form["audience"] = settings.audience
        if settings.scope:
            self._form["scope"] = settings.scope
        self._clock = clock
        self._token: _Token | None = None
        self._flights = Flights(self._fetch, float("inf"), clock)

    async def read_token(self) -> str:
        """Return the cached token, or fetch a new one."""
        token = self._token
        if token is None or self._clock() >= token.until:
            token = await self._flights.join("")
        return token.text

    def forget(self, token: str) -> bool:
        """Drop this token, unless it was replaced already."""
        if self._token is not None and self._token.text == token:
            self._token = None
        return True

    async def close(self) -> None:
        """Cancel a fetch that is under way."""
        await self._flights.close()

    async def _fetch(self, _key: str) -> _Token:
        begun = self._clock()
        try:
            answer = await self._client.read_answer(self._url, form=self._form)
        except AnswerRefusedError as error:
            raise AnswerRefusedError(f"the token endpoint: {error}") from error
        if answer.status != OK:
            raise AnswerRefusedError(f"the token endpoint: status {answer.status}")
        text, lifetime = _read_token(answer.document)
        self._token = _Token(text, begun + lifetime - min(lifetime / 10, 60.0))
        return self._token


def _read_token(document: JsonValue) -> tuple[str, float]:
    """Token and lifetime in seconds of a token answer. SEC: its text never gets into an error."""
    members = document if isinstance(document, dict) else {}
    text, kind = members.get("access_token"), members.get("token_type")
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise AnswerRefusedError("the token endpoint: no access_token that could be sent")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise AnswerRefusedError("the token endpoint: token_type is not Bearer")
    lifetime = members.get("expires_in", _UNSTATED_LIFETIME)
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float) or lifetime <= 0:
        raise AnswerRefusedError("the token endpoint: expires_in is not a number of seconds")
    return text, min(float(lifetime), _LONGEST_LIFETIME)
