"""An application with hosted graphs, called without a server. It asserts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from twinframe.control.hosting.service import HostingService, LocalGraphHost
from twinframe.hooks.installation import Installation, load_installation
from twinframe.hooks.resource_types.hosting import HostedGraph, ResourceName
from twinframe.http.guard import Guard
from twinframe.service.application import build_app


def build_hosting(
    folder: Path, environment: Mapping[str, str] | None = None, **hosting: object
) -> Installation:
    """An installation whose graphs lie below `folder`; `hosting` are keys of that section."""
    whole = {
        "Hosting__Enabled": "true",
        "Hosting__Directory": str(folder / "hosting"),
        "Storage__Sqlite__Directory": str(folder / "data"),
        "Logging__Access": "false",
        "Server__Workers": "1",
        **{f"Hosting__{key}": str(value) for key, value in hosting.items()},
        **(environment or {}),
    }
    return load_installation(environ=whole)


def build_graph(
    resource_id: str, incarnation: str = "1", fence: int = 1, **settings: Any
) -> HostedGraph:
    """A graph to be hosted."""
    given: dict[str, Any] = {
        "project_id": "project",
        "database_name": "",
        "max_concurrent_connections": 100,
        "backup_retention_days": 0,
        "audit_logging": False,
        "analytics": False,
        **settings,
    }
    document = {"name": ResourceName(resource_id, incarnation), "fence": fence, **given}
    return TypeAdapter(HostedGraph).validate_python(document)


async def bring_up(host: LocalGraphHost, graph: HostedGraph) -> None:
    """Create and publish."""
    await host.create(graph)
    await host.publish(graph)


@asynccontextmanager
async def serving(installation: Installation) -> AsyncIterator[Guard]:
    """The application between its lifespan's events."""
    app = build_app(installation)
    events: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    said: asyncio.Queue[Any] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}}
    life = asyncio.create_task(app(scope, events.get, said.put))
    await events.put({"type": "lifespan.startup"})
    started = await said.get()
    assert started["type"] == "lifespan.startup.complete", started
    try:
        yield app
    finally:
        await events.put({"type": "lifespan.shutdown"})
        await said.get()
        await life


@asynccontextmanager
async def hosting_alone(installation: Installation) -> AsyncIterator[HostingService]:
    """The service of hosted graphs without a web server before it."""
    service = HostingService(installation, None)
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def request(
    app: Guard, method: str, path: str, body: bytes = b"", host: str = "localhost"
) -> tuple[int, bytes]:
    """One request: status and body."""
    sent: list[Any] = []
    headers = [(b"host", host.encode()), (b"content-type", b"application/json")]
    if body:
        headers.append((b"content-length", str(len(body)).encode()))
    raw, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> dict[str, Any]:
        if sent:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], content
