"""The root command `twinframe` with its table of commands."""

from __future__ import annotations

import click

from twinframe import __version__
from twinframe.cli.command_table import CommandTable
from twinframe.cli.console import Commands

_COMMANDS = CommandTable(
    {
        "serve": "twinframe.cli.serve:serve",
        "mcp": "twinframe.cli.mcp:mcp",
        "control": "twinframe.cli.control:control",
        "demo": "twinframe.cli.demo:demo",
        "check": "twinframe.cli.check:check",
        "plugins": "twinframe.cli.plugins:plugins",
        "settings": "twinframe.cli.settings:settings",
        "query": "twinframe.cli.query:query",
        "explain": "twinframe.cli.query:explain",
        "profile": "twinframe.cli.query:profile",
        "index": "twinframe.cli.index:index",
        "verify": "twinframe.cli.verify:verify",
        "export": "twinframe.cli.export:export",
        "import": "twinframe.cli.import_:import_",
        "graphs": "twinframe.cli.graphs:graphs",
        "history": "twinframe.cli.history:history",
        "backup": "twinframe.cli.backup:backup",
        "restore": "twinframe.cli.restore:restore",
        "dtdl": "twinframe.cli.dtdl:dtdl",
        "apikey": "twinframe.cli.apikey:apikey",
        "auth-server": "twinframe.cli.auth_server:auth_server",
        "client": "twinframe.cli.client:client",
        "token": "twinframe.cli.token:token",
    }
)


@click.group(
    cls=Commands, commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="twinframe")
def main() -> None:
    """A digital-twin graph service."""
