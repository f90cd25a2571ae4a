"""A host of graphs that writes files in a folder for tests to inspect.

It keeps the promise of `GraphHost` between processes, so that tests can kill one: files appear by
rename, and a lock file serializes access to the same graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

import orjson

from twinframe.hooks.resource_types.base import LeaseLost
from twinframe.hooks.resource_types.hosting import HostedGraph, ResourceName, run_blocking
from twinframe.runtime.files import sync_open
from twinframe.runtime.locks import hold_lock

_DRAFT: Final = ".draft"


class FolderHost:
    """`data/<id>~<incarnation>` is a graph's data, `published/<same>` says how it is served.

    `fault` is called with the points `host:create`, `host:publish`, `host:unpublish` and
    `host:remove` before each of these, and with `host:draft` when a file is written and not yet
    renamed.
    """

    def __init__(self, folder: Path, fault: Callable[[str], None] = lambda _point: None) -> None:
        self._folder = folder
        self._fault = fault
        self.data = folder / "data"
        self.published = folder / "published"
        for part in (self.data, self.published):
            part.mkdir(parents=True, exist_ok=True)

    async def create(self, graph: HostedGraph) -> None:
        """Create a file of its own, unless it exists."""
        await run_blocking(self._create, graph)

    async def publish(self, graph: HostedGraph) -> str:
        """Write a document that says how it is served; an older attempt is refused."""
        return await run_blocking(self._publish, graph)

    async def unpublish(self, name: ResourceName, fence: int) -> None:
        """Remove the document; an older attempt is refused."""
        await run_blocking(self._remove, self.published, name, fence)

    async def remove(self, name: ResourceName, fence: int) -> None:
        """Remove the file; an older attempt is refused while the graph is published."""
        await run_blocking(self._remove, self.data, name, fence)

    async def check(self, graph: HostedGraph) -> str | None:
        """Check that file and document exist, and the document is what it should be."""
        if not _place(self.data, graph.name).exists():
            return "its data are gone"
        told = self._read(graph.name)
        wanted = {**_build_document(graph), "fence": 0}
        return None if {**told, "fence": 0} == wanted else "it is not served as it should be"

    async def list_names(self) -> Sequence[ResourceName]:
        """List all files and documents."""
        found = {path.name for part in (self.data, self.published) for path in part.iterdir()}
        names = sorted({name.removesuffix(_DRAFT) for name in found})
        parts = (name.partition("~") for name in names)
        return [ResourceName(resource_id, incarnation) for resource_id, _, incarnation in parts]

    def _create(self, graph: HostedGraph) -> None:
        self._fault("host:create")
        with self._turn():
            self._check_fence(graph.name, graph.fence)
            file = _place(self.data, graph.name)
            if not file.exists():
                self._write(file, graph.database_name.encode())

    def _publish(self, graph: HostedGraph) -> str:
        self._fault("host:publish")
        with self._turn():
            self._check_fence(graph.name, graph.fence)
            document = orjson.dumps(_build_document(graph))
            self._write(_place(self.published, graph.name), document)
        return f"http://graphs.test/graphs/{graph.name.resource_id}"

    def _remove(self, part: Path, name: ResourceName, fence: int) -> None:
        self._fault("host:remove" if part == self.data else "host:unpublish")
        with self._turn():
            self._check_fence(name, fence)
            file = _place(part, name)
            file.unlink(missing_ok=True)
            _draft(file).unlink(missing_ok=True)

    def _check_fence(self, name: ResourceName, fence: int) -> None:
        known = int(str(self._read(name).get("fence", 0)))
        if fence < known:
            raise LeaseLost(f"{name.resource_id} was published with {known}, not {fence}.")

    def _read(self, name: ResourceName) -> dict[str, object]:
        file = _place(self.published, name)
        document: dict[str, object] = orjson.loads(file.read_bytes()) if file.exists() else {}
        return document

    def _write(self, file: Path, content: bytes) -> None:
        draft = _draft(file)
        with draft.open("wb") as stream:
            stream.write(content)
            sync_open(stream)
        self._fault("host:draft")
        draft.replace(file)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with hold_lock(self._folder / "lock"):
            yield


def _place(part: Path, name: ResourceName) -> Path:
    return part / f"{name.resource_id}~{name.incarnation}"


def _draft(file: Path) -> Path:
    return file.with_name(f"{file.name}{_DRAFT}")


def _build_document(graph: HostedGraph) -> dict[str, object]:
    document: dict[str, object] = orjson.loads(orjson.dumps(asdict(graph)))  # as it is read back
    return document
