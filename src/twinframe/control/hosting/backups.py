"""Backups of hosted graphs: makes, names, prunes and restores them.

The store copies and replaces the data itself. The points of a graph are in a file beside its
backup, `<backup>.points`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from twinframe.control.hosting.catalog import Availability, Catalog, CatalogEntry, open_kept
from twinframe.errors import ConfigurationError, InvalidArgument, StorageError
from twinframe.errors.nearest import render_hint
from twinframe.hooks.installation import Installation
from twinframe.storage.backups import Backups, check_seal, remove_unfinished
from twinframe.storage.base import GraphStore

_SUFFIX: Final = ".backup"
_POINTS: Final = ".points"
_FORM: Final = "%Y%m%dT%H%M%S.%fZ"
_CLOSING_SECONDS: Final = 5.0


def list_backups(directory: Path) -> list[Path]:
    """The backups of a graph, oldest first."""
    found = [path for path in (directory / "backups").glob(f"*{_SUFFIX}") if _read_moment(path)]
    return sorted(found)


def make_backup(
    installation: Installation, catalog: Catalog, entry: CatalogEntry, *, history: bool
) -> Path:
    """Back a hosted graph up while it is served, with its points if `history`; return the new file.

    Raises `ConfigurationError` for a storage without backups, `InvalidArgument` for a graph that is
    no longer served.
    """
    store = installation.build_store(entry.store, entry.database)
    backups = require_backups(store, installation)
    if not open_kept(catalog, entry, store):
        raise InvalidArgument(f"The graph {entry.resource_id} is served no more.")
    try:
        folder = catalog.build_directory(entry.resource_id, entry.incarnation) / "backups"
        folder.mkdir(mode=0o700, exist_ok=True)
        target = folder / f"{datetime.now(UTC).strftime(_FORM)}{_SUFFIX}"
        back_up(installation, store, backups, target, history=history)
    finally:
        store.close()
    return target


def back_up(
    installation: Installation,
    store: GraphStore,
    backups: Backups,
    target: Path,
    *,
    history: bool,
) -> None:
    """Write a backup of an open store, which is `backups`, and of its points if `history`.

    The points come first: a backup that has its name has them.
    """
    points = installation.find_point_store(store) if history else None
    beside = find_points(target)
    if points is not None and (installation.settings.history.telemetry or points.measure()):
        try:
            points.back_up(beside)
        finally:
            points.close()
    try:
        backups.back_up(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def restore(
    installation: Installation, store: GraphStore, backups: Backups, source: Path, wait: float
) -> str:
    """Replace the graph of a closed store by a backup, and its points by those of the backup.

    Return what became of the points, for people; empty where there are none. Raises as
    `Backups.restore` does.
    """
    points, beside = installation.find_point_store(store), find_points(source)
    has_points = beside.exists()
    if has_points and points is None:
        raise ConfigurationError(
            f"{beside} has points, which cannot be kept here: install the plugin that "
            f"History__Store={installation.settings.history.store} names, or move that file away."
        )
    if has_points:
        check_seal(beside)
    backups.restore(source, wait)
    if points is None or not (has_points or points.measure()):
        return ""
    if not has_points:
        return "The backup has no points: those of the graph stay."
    try:
        points.restore(beside, wait)
    finally:
        points.close()
    return ""


def find_points(backup: Path) -> Path:
    """Return where the points of a backup are."""
    return backup.with_name(backup.name + _POINTS)


def is_due(directory: Path, retention_days: int, interval: float) -> bool:
    """Whether it is time for another backup."""
    if not retention_days:
        return False
    # NOTE: one from the future was made before the clock was set back, and counts for no day.
    ages = [
        datetime.now(UTC) - moment
        for path in list_backups(directory)
        if (moment := _read_moment(path))
    ]
    return not any(timedelta(0) <= age < timedelta(seconds=interval) for age in ages)


def prune_backups(directory: Path, retention_days: int) -> list[Path]:
    """Delete backups that are past their retention, and unfinished ones.

    The newest one stays, whatever its age, unless none are to be kept at all. Manual backups stay
    for a day even then.
    """
    found = list_backups(directory)
    oldest = datetime.now(UTC) - timedelta(days=max(retention_days, 1))
    old = [path for path in found if (_read_moment(path) or oldest) < oldest]
    if retention_days and len(old) == len(found):
        old = old[:-1]
    for path in old:
        path.unlink(missing_ok=True)
        find_points(path).unlink(missing_ok=True)
    remove_unfinished(directory / "backups")
    for path in (directory / "backups").glob(f"*{_SUFFIX}{_POINTS}"):
        # Its backup was not made: the process was killed.
        backup = path.with_name(path.name.removesuffix(_POINTS))
        if not backup.exists() and (_read_moment(backup) or oldest) < oldest:
            path.unlink(missing_ok=True)
    for path in (directory / "backups").glob(f"*{_SUFFIX}.part*"):  # of releases before locks
        with suppress(FileNotFoundError):
            made = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            if datetime.now(UTC) - made > timedelta(days=1):
                path.unlink(missing_ok=True)
    return old


def find_backup(directory: Path, name: str) -> Path:
    """Return the backup of this name, or the file at this path.

    Raises `InvalidArgument` for none.
    """
    known = {path.stem: path for path in list_backups(directory)}
    if name in known or name.removesuffix(_SUFFIX) in known:
        return known[name.removesuffix(_SUFFIX)]
    if Path(name).is_file():
        return Path(name)
    hint = render_hint(name, known, "There are:")
    raise InvalidArgument(f"There is no backup {name!r} of this graph. {hint}")


def restore_backup(
    installation: Installation, catalog: Catalog, resource_id: str, name: str
) -> tuple[Path | None, str]:
    """Replace a served graph's data by a backup; return the backup of the previous data.

    None where these could not be read. The text is that of `restore`. Meanwhile requests are
    answered 503. Raises as `Backups.restore` does; then the graph is served as it was.
    """
    with catalog.changing_served(resource_id) as change:
        entry = change.served
        if entry is None:
            raise InvalidArgument(f"No graph {resource_id!r} is served here.")
        directory = change.directory
        source = find_backup(directory, name)
        store = installation.build_store(entry.store, entry.database)
        backups = require_backups(store, installation)
        before = _back_up_before(
            installation, store, backups, directory, history=find_points(source).exists()
        )
        offline = replace(entry, availability=Availability.OFFLINE)
        change.serve(offline)
    generation = entry.generation
    try:
        wait = installation.settings.hosting.drain_seconds + _CLOSING_SECONDS
        note = restore(installation, store, backups, source, wait)
        generation += 1
    finally:
        with catalog.changing_served(resource_id) as change:
            if change.served is not None and change.serves_this:
                change.serve(
                    replace(change.served, availability=Availability.SERVED, generation=generation)
                )
    return before, note


def require_backups(store: GraphStore, installation: Installation) -> Backups:
    """Return the store as one that makes backups. Raises `ConfigurationError`."""
    if isinstance(store, Backups):
        return store
    provider = installation.settings.storage.provider
    raise ConfigurationError(
        f"The storage {provider} makes no backups as it is set up; sqlite does, and rdf with an "
        "Oxigraph store on disk and its store process. Copy the data with what keeps it, or with "
        "twinframe export."
    )


def _back_up_before(
    installation: Installation,
    store: GraphStore,
    backups: Backups,
    directory: Path,
    *,
    history: bool,
) -> Path | None:
    """Back up the data that a restore is going to replace, if they can still be read."""
    folder = directory / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{datetime.now(UTC).strftime(_FORM)}{_SUFFIX}"
    with suppress(StorageError):
        store.open()
        try:
            back_up(installation, store, backups, target, history=history)
        finally:
            store.close()
        return target
    return None


def _read_moment(path: Path) -> datetime | None:
    try:
        return datetime.strptime(path.stem, _FORM).replace(tzinfo=UTC)
    except ValueError:
        return None
