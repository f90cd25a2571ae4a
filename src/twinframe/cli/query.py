"""`twinframe query`, `explain` and `profile`: run and explain queries on the configured store,
without a service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from twinframe.cli.console import config_option, json_option, write_json
from twinframe.cli.tables import write_table
from twinframe.errors import EmptyBody, InvalidArgument
from twinframe.hooks.installation import Installation, load_installation
from twinframe.model.json import JsonLimits, parse_json
from twinframe.service.opening import open_graph

param_option = click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=JSON",
    help="A query parameter. Repeatable.",
)


@click.command()
@click.argument("text")
@param_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Print at most N rows.")
@config_option
@json_option
def query(
    text: str, params: Sequence[str], limit: int | None, config: Path | None, *, as_json: bool
) -> None:
    """Run the query TEXT, in either language, and print its rows.

    The service may be running. With --json, each row is one line.
    """
    rows = asyncio.run(_run(load_installation(config), text, parse_params(params), limit))
    if as_json:
        for row in rows:
            click.echo(row)
        return
    documents = [orjson.loads(row) for row in rows]
    columns = list(dict.fromkeys(name for document in documents for name in document))
    if columns:
        write_table(columns, [[_render_cell(d, name) for name in columns] for d in documents])
    click.echo(f"{len(rows)} row{'' if len(rows) == 1 else 's'}", err=True)


@click.command()
@click.argument("text")
@param_option
@config_option
@json_option
def explain(text: str, params: Sequence[str], config: Path | None, *, as_json: bool) -> None:
    """Print the plan of the query TEXT and the statement of the store. Nothing is run."""
    _show_plan("EXPLAIN", text, params, config, as_json=as_json)


@click.command()
@click.argument("text")
@param_option
@config_option
@json_option
def profile(text: str, params: Sequence[str], config: Path | None, *, as_json: bool) -> None:
    """Run the query TEXT and print its plan with the rows and milliseconds of each operator."""
    _show_plan("PROFILE", text, params, config, as_json=as_json)


def _show_plan(
    prefix: str, text: str, params: Sequence[str], config: Path | None, *, as_json: bool
) -> None:
    rows = asyncio.run(
        _run(load_installation(config), f"{prefix} {text}", parse_params(params), None)
    )
    (document,) = (orjson.loads(row) for row in rows)
    if as_json:
        write_json(document)
        return
    click.echo(document["plan"])
    for part in document["pushed"]:
        indexes = ", ".join(part["indexes"]) or "none"
        click.echo(f"\n{part['engine']} runs:\n{part['plan']}\n\n{part['statement']}")
        click.echo(f"\nindexes: {indexes}")
        for joins in part["joins"]:
            steps = " → ".join(map(_render_join, joins))
            click.echo(f"joins, with the rows estimated after each: {steps}")
        for engine, reason in part["declined"].items():
            click.echo(f"\n{engine} would not answer it: {reason}")
    if not document["pushed"]:
        click.echo("\nThe store runs no part of it; the evaluator runs all.")
    for note in dict.fromkeys(one.get("note") for one in document["operators"]):
        if note is not None:
            click.echo(f"\n{note}")


def _render_join(join: dict[str, Any]) -> str:
    counted = join.get("counted")
    found = "" if counted is None else f", counted {counted:,}"
    return f"{join['alias']} ({join['rows']:,.0f}{found})"


def parse_params(params: Sequence[str]) -> dict[str, Any]:
    """Parse parameters from `NAME=JSON` texts. Raises `click.BadParameter` naming the error."""
    values: dict[str, Any] = {}
    for param in params:
        name, equals, text = param.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{param!r} must be NAME=JSON.", param_hint="--param")
        if name in values:
            raise click.BadParameter(f"{name} is given twice.", param_hint="--param")
        try:
            values[name] = parse_json(text.encode(), JsonLimits(), noun="text")
        except (EmptyBody, InvalidArgument) as error:
            raise click.BadParameter(
                f"the value of {name} cannot be read: {error.message} "
                f"Text needs quotes: {name}='\"text\"'.",
                param_hint="--param",
            ) from error
    return values


async def _run(
    installation: Installation, text: str, parameters: dict[str, Any], limit: int | None
) -> list[bytes]:
    rows: list[bytes] = []
    largest = installation.settings.query.max_page_size
    async with open_graph(installation) as graph:
        token = None
        while limit is None or len(rows) < limit:
            wanted = None if limit is None else min(limit - len(rows), largest)
            page = await graph.queries.run(
                None if token else text, None if token else parameters, token, wanted
            )
            rows += page.rows
            for warning in page.warnings:
                place = f"line {warning.line}, column {warning.column}"
                click.echo(f"warning: {place}: {warning.message}", err=True)
            token = page.continuation_token
            if token is None:
                break
    return rows


def _render_cell(document: dict[str, Any], name: str) -> str:
    if name not in document:
        return ""
    value = document[name]
    return value if isinstance(value, str) else orjson.dumps(value).decode()
