"""The option that selects the service's own graph or a hosted one."""

from __future__ import annotations

import click

from twinframe.cli.backup import find_entry
from twinframe.control.hosting.service import build_catalog
from twinframe.hooks.installation import Installation

graph_option = click.option(
    "--graph", default="", metavar="ID", help="A hosted graph; else the service's own."
)


def find_store(installation: Installation, graph: str) -> str:
    """Return the name of the store of a hosted graph; empty is the service's own.

    Raises `InvalidArgument` for a graph that is not hosted here.
    """
    return find_entry(build_catalog(installation.settings), graph).store if graph else ""
