"""`twinframe verify`: the stored data checked in depth. It repairs nothing."""

from __future__ import annotations

from pathlib import Path

import click

from twinframe.app.installation import load_installation
from twinframe.cli.console import config_option, write_problems


@click.command()
@config_option
def verify(config: Path | None) -> None:
    """Check the stored graph in depth and say what is wrong with it.

    The service may run meanwhile. Exit code 1 when something is wrong.
    """
    installation = load_installation(config)
    store = installation.build_store()
    store.open()
    try:
        faults = list(store.verify())
    finally:
        store.close()
    if faults:
        write_problems(faults)
        raise SystemExit(1)
    storage = installation.settings.storage
    click.echo(f"The graph {storage.graph!r} in storage {storage.provider} is sound.")
