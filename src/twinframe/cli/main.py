"""The command table of `twinframe`. It holds no command itself."""

from __future__ import annotations

import click

from twinframe import __version__
from twinframe.cli.apikey import apikey
from twinframe.cli.auth_server import auth_server
from twinframe.cli.backup import backup
from twinframe.cli.check import check
from twinframe.cli.client import client
from twinframe.cli.console import Commands
from twinframe.cli.control import control
from twinframe.cli.demo import demo
from twinframe.cli.dtdl import dtdl
from twinframe.cli.export import export
from twinframe.cli.import_ import import_
from twinframe.cli.index import index
from twinframe.cli.mcp import mcp
from twinframe.cli.plugins import plugins
from twinframe.cli.query import explain, query
from twinframe.cli.restore import restore
from twinframe.cli.serve import serve
from twinframe.cli.settings import settings
from twinframe.cli.token import token
from twinframe.cli.verify import verify


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="twinframe")
def main() -> None:
    """A digital-twin graph service."""


for command in (
    serve,
    mcp,
    control,
    demo,
    check,
    plugins,
    settings,
    query,
    explain,
    index,
    verify,
    export,
    import_,
    backup,
    restore,
    dtdl,
    apikey,
    auth_server,
    client,
    token,
):
    main.add_command(command)
