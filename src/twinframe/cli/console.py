"""Shared by all commands: the settings option, errors as lines, and JSON output."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NoReturn

import click
import orjson

from twinframe.errors import QueryInvalid, StorageDamaged, TwinframeError
from twinframe.errors.masking import mask_secrets

DAMAGED: Final = os.EX_DATAERR
"""Exit code (65) of a service that does not start because its stored data is damaged: a restart
will not help until a backup is restored.
"""

_LONGEST_HELP: Final = 1000  # characters; click cuts at what is left of one line

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON file with settings. Default: the file that TWINFRAME_CONFIG names.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.")


class CommandGroup(click.Group):
    """A command group whose help is not cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with the whole first sentence of its help."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(_LONGEST_HELP)) for name, each in found if each]
            )


class Commands(CommandGroup):
    """A command group that ends with a line per error and exit code 1, not with a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; the service's own errors become lines on standard error.

        SEC: files made by the command and its processes are for this user alone, whatever the
        shell's umask.
        """
        before = os.umask(0o077)
        os.umask(before | 0o077)
        try:
            return super().invoke(ctx)
        except TwinframeError as error:
            write_error(error)
            ctx.exit(1)
        except OSError as error:
            # NOTE: click handles a closed pipe (`| head`).
            if isinstance(error, BrokenPipeError):
                raise
            write_problems([str(error)])
            ctx.exit(1)
        finally:
            os.umask(before)


def write_error(error: TwinframeError) -> None:
    """Print an error and its details to standard error."""
    if error.details:
        write_problems([detail.message for detail in error.details])
        return
    write_problems([error.message])
    # NOTE: Cypher's messages end with the excerpt, which the vendor's form of them lacks.
    if isinstance(error, QueryInvalid) and error.excerpt and error.excerpt not in error.message:
        click.echo(error.excerpt, err=True)


def write_problems(problems: Iterable[str]) -> None:
    """Print problems to standard error, one line each."""
    for problem in problems:
        click.echo(f"twinframe: {mask_secrets(problem)}", err=True)


def refuse_start(refusals: Sequence[TwinframeError]) -> NoReturn:
    """Abort the start of a service for these reasons, one line each, with exit code `DAMAGED` or
    1.
    """
    write_problems(refusal.message for refusal in refusals)
    is_damaged = any(isinstance(refusal, StorageDamaged) for refusal in refusals)
    raise SystemExit(DAMAGED if is_damaged else 1)


def write_json(value: object) -> None:
    """Print a value as indented JSON."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS))
