"""The floor of the HTTP figures: a bare Falcon responder with constant bytes, under our server."""

from __future__ import annotations

import os

import falcon
import falcon.asgi

from benchmarks.graph import build_twin
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import ServerSettings

TWIN = build_twin(
    "sensor-1", "TemperatureSensor", name="Sensor 1", value=21.5, unit="degreeCelsius", maker="A"
)


class Constant:
    """Always the same twin."""

    async def on_get(
        self, _req: falcon.asgi.Request, resp: falcon.asgi.Response, twin_id: str
    ) -> None:
        """The bytes, with the headers a twin has."""
        del twin_id
        resp.data = TWIN.body
        resp.content_type = "application/json; charset=utf-8"
        resp.set_header("ETag", TWIN.etag)


class Bare:
    """The application as our worker class wants it: callable, limits, drain."""

    server = ServerSettings.model_validate({"bind": os.environ.get("BARE_BIND", "127.0.0.1:0")})

    memory = MemoryAccount()

    def __init__(self) -> None:
        self._app = falcon.asgi.App()
        self._app.add_route("/digitaltwins/{twin_id}", Constant())

    async def __call__(self, scope: object, receive: object, send: object) -> None:
        await self._app(scope, receive, send)  # type: ignore[arg-type]

    def begin_drain(self) -> None:
        """Nothing to do."""


app = Bare()
