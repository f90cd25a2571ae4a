"""Hosted graphs for tests: provisioned by this process, served by another. It asserts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.storages import SERVED, choose
from twinframe.control.hosting.service import LocalGraphHost
from twinframe.hooks.installation import Installation, load_installation
from twinframe.hooks.resource_types.hosting import HostedGraph, ResourceName

DOMAIN = "graphs.example"


def build_environment(folder: Path, **more: str) -> dict[str, str]:
    """Settings of a service with its graphs below `folder`, as the environment has them."""
    return {
        "Hosting__Enabled": "true",
        "Hosting__Directory": str(folder / "hosting"),
        "Hosting__Domain": DOMAIN,
        "Hosting__DrainSeconds": "2",
        "Storage__Sqlite__Directory": str(folder / "data"),
        **SERVED[choose("sqlite")[0]](folder),
        **more,
    }


def build_hosted(
    resource_id: str, incarnation: str = "1", fence: int = 1, **more: object
) -> HostedGraph:
    """A graph with the settings given."""
    settings: dict[str, object] = {
        "project_id": "project",
        "database_name": "",
        "max_concurrent_connections": 100,
        "backup_retention_days": 0,
        "audit_logging": False,
        "analytics": False,
        **more,
    }
    return HostedGraph(name=ResourceName(resource_id, incarnation), fence=fence, **settings)  # type: ignore[arg-type]  # as given


@dataclass(slots=True)
class Provisioner:
    """Brings graphs up and takes them down, each call to its end."""

    environment: Mapping[str, str]
    installation: Installation = field(init=False)
    host: LocalGraphHost = field(init=False)

    def __post_init__(self) -> None:
        self.installation = load_installation(environ=self.environment)
        self.host = LocalGraphHost(self.installation)

    def bring_up(self, graph: HostedGraph) -> str:
        """Create and publish; the address."""

        async def run() -> str:
            await self.host.create(graph)
            return await self.host.publish(graph)

        try:
            return asyncio.run(run())
        finally:
            self.host.close()

    def take_down(self, graph: HostedGraph) -> None:
        """Unpublish and remove."""

        async def run() -> None:
            await self.host.unpublish(graph.name, graph.fence)
            await self.host.remove(graph.name, graph.fence)

        try:
            asyncio.run(run())
        finally:
            self.host.close()
