"""The table of commands: whole, and light for who runs one of them."""

from __future__ import annotations

import gc
import sys

import click
import pytest
from click.testing import CliRunner

from tests.waiting import run_program
from twinframe.cli import main
from twinframe.cli.command_table import CommandTable


def _list_modules(statement: str) -> set[str]:
    """The modules of a fresh process after `statement`."""
    done = run_program(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_every_command_is_where_the_table_says_under_its_own_name() -> None:
    assert len(main.commands) >= 20
    for name, command in main.commands.items():
        assert isinstance(command, click.Command)
        assert command.name == name


def test_the_table_alone_imports_no_command_and_nothing_of_the_service() -> None:
    modules = _list_modules("import twinframe.cli")
    assert "twinframe.cli.main" in modules
    assert not modules & {"twinframe.service", "twinframe.cli.serve", "falcon", "pydantic", "rich"}


def test_a_command_that_is_misspelt_is_told_with_the_nearest_one() -> None:
    result = CliRunner().invoke(main, ["srve"])
    assert result.exit_code == 2
    assert "Did you mean 'serve'?" in result.stderr


def test_a_place_that_holds_no_command_is_an_error_of_the_table() -> None:
    table = CommandTable({"main": "twinframe.cli.command_table:CommandTable"})
    with pytest.raises(TypeError, match="CommandTable is not a command"):
        table["main"]


def test_the_collector_runs_again_once_a_command_is_there() -> None:
    table = CommandTable({"token": "twinframe.cli.token:token"})
    assert table["token"].name == "token"
    assert gc.isenabled()


def test_commands_are_added_and_taken_away_as_in_any_table() -> None:
    table = CommandTable({"token": "twinframe.cli.token:token"})
    table["more"] = click.Command("more")
    assert list(table) == ["token", "more"]
    assert table["more"].name == "more"
    del table["token"]
    assert "token" not in table
    assert len(table) == 1
