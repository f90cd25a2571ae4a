"""A graph in memory and a client that calls the ASGI application directly."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest

from twinframe.settings import Settings
from twinframe.web.application import build_application
from twinframe.web.guard import Guard


@dataclass(frozen=True)
class Answered:
    """What the application sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class Client:
    """Calls an ASGI application with requests as a server would hand them on."""

    def __init__(self, app: Guard) -> None:
        self.app = app

    def send(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        content_type: str | None = "application/json",
        truncated: bool = False,
    ) -> Answered:
        path, _, query = target.partition("?")
        sent = {"host": "twins.example:8080", **(headers or {})}
        if body is not None:
            sent.setdefault("content-length", str(len(body)))
            if content_type is not None:
                sent.setdefault("content-type", content_type)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "https",
            "path": path,
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "root_path": "",
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in sent.items()],
            "client": ("192.0.2.1", 50000),
            "server": ("127.0.0.1", 8080),
            "state": {},
        }
        return asyncio.run(self._exchange(scope, body or b"", truncated))

    async def _exchange(self, scope: dict[str, Any], body: bytes, truncated: bool) -> Answered:
        events = [{"type": "http.request", "body": body, "more_body": truncated}]
        sent: list[Any] = []

        async def receive() -> Any:
            return events.pop(0) if events else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answered(start["status"], headers, b"".join(m.get("body", b"") for m in rest))


def load_served() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "served_app", Path(__file__).parent / "served_app.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def served() -> ModuleType:
    return load_served()


@pytest.fixture
def graph(served: ModuleType) -> Any:
    return served.FakeGraph()


@pytest.fixture
def connect(graph: Any) -> Callable[..., Client]:
    """Builds a client over `graph` with settings given as sections."""

    def build(*, is_ready: Any = None, **sections: Any) -> Client:
        settings = Settings.model_validate(sections)
        return Client(build_application(graph, settings, is_ready=is_ready))

    return build


@pytest.fixture
def client(connect: Callable[..., Client]) -> Client:
    return connect()
