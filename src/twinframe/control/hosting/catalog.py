"""The catalog of hosted graphs: which graphs exist, and which are served at which address.

A provisioner writes it, graph servers read it at each request. `catalog_files` keeps it for one
machine, `catalog_records` for any number of them.
"""

from __future__ import annotations

import enum
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import orjson

from twinframe.errors import Conflict, InvalidArgument, StorageDamaged
from twinframe.model.ids import is_resource_id
from twinframe.storage.base import GraphStore

FORMAT: Final = 1
_REMOVE_WAIT: Final = 5.0

WindowCounts: TypeAlias = dict[int, tuple[int, int]]
"""The start of the present window, and the operations counted in it, by its seconds."""

_INCARNATION: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


class FenceLost(Conflict):
    """A newer attempt has been made; nothing was changed."""

    code = "FenceLost"


class Availability(enum.StrEnum):
    """What a server does with requests for a published graph."""

    SERVED = "served"
    OFFLINE = "offline"  # its data are being replaced: 503, and soon again


@dataclass(frozen=True, slots=True)
class HostedSettings:
    """The owner's settings of a hosted graph, and the limits of its sku.

    See the resource type's settings, and its quotas: `limits` has one number for each limited
    quota.
    """

    max_concurrent_connections: int = 100
    backup_retention_days: int = 0
    audit_logging: bool = False
    analytics: bool = False
    sku: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A hosted graph. `store` is its name in the storage, `database` that of one of several.

    `generation` changes whenever the data under that name are replaced, by a restore.
    """

    resource_id: str
    incarnation: str
    fence: int
    project_id: str
    store: str
    settings: HostedSettings
    availability: Availability = Availability.SERVED
    generation: int = 0
    database: str = ""

    @property
    def identity(self) -> tuple[str, str, int, Availability]:
        """The values whose change makes a server open the graph again."""
        return self.incarnation, self.store, self.generation, self.availability


class OpenMark(Protocol):
    """The mark of one graph that a worker has open. Several may hold it."""

    def close(self, *, has_work: bool) -> None:
        """Release the mark. Without work the last holder removes it."""


class CatalogChange(ABC):
    """One graph in a change. `record` is None if it has no data.

    Each method raises `FenceLost`, and changes nothing, after a newer attempt has been made.
    """

    def __init__(
        self, directory: Path, record: CatalogEntry | None, served: CatalogEntry | None
    ) -> None:
        self.directory = directory
        self.record = record
        self.served = served

    @property
    def serves_this(self) -> bool:
        """Return whether the address belongs to this incarnation."""
        if self.served is None:
            return False
        return f"{self.served.resource_id}.{self.served.incarnation}" == self.directory.name

    @abstractmethod
    def begin(self, entry: CatalogEntry) -> None:
        """Record the graph, before any of its data are created."""

    @abstractmethod
    def serve(self, entry: CatalogEntry) -> None:
        """Serve it at its address.

        Raises `StorageBusy` while that belongs to another incarnation.
        """

    @abstractmethod
    def withdraw(self) -> None:
        """Withdraw the address, if it belongs to this graph."""

    @abstractmethod
    def forget(self) -> None:
        """Remove the record and everything next to it, after the data are removed."""

    def check(self) -> None:  # noqa: B027  (a change under a lock has nothing to check)
        """Raise `FenceLost` if the graph was forgotten or a newer attempt was made."""

    def is_used(self) -> bool:
        """Return whether a server has the graph open, as far as the store does not know itself."""
        return False


class Catalog(ABC):
    """All hosted graphs of an installation.

    Changes are complete or not made at all, and on stable storage when they return.
    `directory` is where this machine keeps the files of graphs.
    """

    def __init__(self, directory: Path) -> None:
        self._graphs = directory / "graphs"

    @abstractmethod
    def prepare(self) -> None:
        """Create what is missing. Raises `StorageError` when that fails."""

    def start(self) -> None:  # noqa: B027  (files need nothing)
        """Begin to follow the changes of others: this process serves graphs."""

    def close(self) -> None:  # noqa: B027  (files need nothing)
        """Release everything."""

    @abstractmethod
    def find(self, resource_id: str) -> CatalogEntry | None:
        """Return what is served under this id now; any text is allowed. It takes microseconds.

        The same object is returned until it changes.
        """

    @abstractmethod
    def list_served(self) -> list[CatalogEntry]:
        """List everything that has an address, by id."""

    @abstractmethod
    def list_records(self) -> list[tuple[str, str]]:
        """Return id and incarnation of every graph that has anything stored."""

    @abstractmethod
    def changing(
        self, resource_id: str, incarnation: str, fence: int
    ) -> AbstractContextManager[CatalogChange]:
        """Begin changes of this id.

        Raises `FenceLost` after a call with a higher fence, `StorageBusy` when another process
        holds it for long.
        """

    @abstractmethod
    def changing_served(self, resource_id: str) -> AbstractContextManager[CatalogChange]:
        """Like `changing`, for an operator: with the served graph and its present fence.

        Raises `InvalidArgument` when nothing is served under this id.
        """

    @abstractmethod
    def tidy(self) -> None:
        """Remove what processes left that ended in the middle of a change."""

    @abstractmethod
    def keeping(self, entry: CatalogEntry) -> AbstractContextManager[bool]:
        """Yield whether the entry is still served.

        A store must be opened in here: opening it just after its removal would create it again
        without an owner. Raises `FenceLost` at its end if that has happened all the same.
        """

    @abstractmethod
    def hold_mark(self, entry: CatalogEntry) -> OpenMark:
        """Mark the graph as open in this process, from `keeping` on. Raises `OSError`."""

    @abstractmethod
    def list_left(self) -> list[CatalogEntry]:
        """List graphs that may have unfinished work while no process has them open."""

    def has_deaths(self) -> bool:
        """Return whether more may be left than at the last `list_left`: a process was found
        dead.
        """
        return False

    def put_statistics(self, name: str, document: Mapping[str, Any]) -> None:  # noqa: B027  (a file has them)
        """Tell other machines the statistics that this one counted of a graph.

        `name` is that of its directory.
        """

    def list_statistics(self, name: str) -> list[dict[str, Any]]:
        """List the statistics that other machines counted of a graph."""
        del name
        return []

    def exchange_counts(self, counts: Mapping[str, WindowCounts]) -> Mapping[str, WindowCounts]:
        """Tell other machines the operations that this one counted; return those of all others.

        The keys are names of directories, and seconds of windows.
        """
        del counts
        return {}

    def build_directory(self, resource_id: str, incarnation: str) -> Path:
        """Return the directory of a graph. Raises `InvalidArgument` for an impossible name."""
        if not is_resource_id(resource_id) or not _INCARNATION.fullmatch(incarnation):
            raise InvalidArgument(f"{resource_id!r} of {incarnation!r} cannot name a hosted graph.")
        return self._graphs / f"{resource_id}.{incarnation}"


def open_kept(catalog: Catalog, entry: CatalogEntry, store: GraphStore) -> bool:
    """Open the store if the entry is still served; return whether it is open.

    What a late opening has created again is removed: names of stores never recur.
    """
    try:
        with catalog.keeping(entry) as kept:
            if kept:
                store.open()
            return kept
    except FenceLost:
        store.close()
        store.remove(_REMOVE_WAIT)
        return False


def render_entry(entry: CatalogEntry) -> bytes:
    """Render an entry as it is stored."""
    document = {"format": FORMAT, **asdict(entry)}
    if not entry.database:  # NOTE: older releases read entries without this member only
        del document["database"]
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def parse_entry(content: bytes, place: str) -> CatalogEntry:
    """Parse what `render_entry` returned. Raises `StorageDamaged`, which names the `place`."""
    try:
        document: dict[str, Any] = orjson.loads(content)
        version = document.pop("format")
        settings = HostedSettings(**document.pop("settings"))
        availability = Availability(document.pop("availability"))
        entry = CatalogEntry(**document, settings=settings, availability=availability)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StorageDamaged(f"The catalog entry {place} is damaged: {error}.") from error
    if version != FORMAT:
        raise StorageDamaged(f"The catalog entry {place} is of another release (format {version}).")
    return entry
