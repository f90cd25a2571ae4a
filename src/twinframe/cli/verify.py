"""`twinframe verify`: verifies the stored data, or a backup, in depth without repairing it."""

from __future__ import annotations

from pathlib import Path

import click

from twinframe.cli.console import config_option, write_problems
from twinframe.control.hosting.backups import find_points
from twinframe.hooks.installation import load_installation
from twinframe.storage.backups import check_seal


@click.command()
@click.option(
    "--backup",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Check this backup file against its digest, instead of the graph.",
)
@config_option
def verify(backup: Path | None, config: Path | None) -> None:
    """Check the stored graph, with its values over time, in depth and report what is wrong.

    The service may be running. Exit code 1: something is wrong.
    """
    if backup is not None:
        _verify_backup(backup)
        if (beside := find_points(backup)).exists():
            _verify_backup(beside)
        return
    installation = load_installation(config)
    store = installation.build_store()
    store.open()
    try:
        faults = list(store.verify())
        points = installation.find_point_store(store)
        if points is not None:
            faults += points.verify()
            points.close()
    finally:
        store.close()
    if faults:
        write_problems(faults)
        raise SystemExit(1)
    storage = installation.settings.storage
    click.echo(f"The graph {storage.graph!r} in storage {storage.provider} is sound.")


def _verify_backup(path: Path) -> None:
    if not check_seal(path):
        write_problems([f"{path} has no digest: it is no backup, or one of an older release."])
        raise SystemExit(1)
    click.echo(f"The backup {path} is what it was when it was made.")
