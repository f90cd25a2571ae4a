"""`twinframe import`: reads a file into a graph of any storage, directly and without an import
job.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import click
from rich.progress import Progress as Bar
from rich.progress import TaskID

from twinframe.cli.backup import find_store, graph_option
from twinframe.cli.console import config_option, write_error, write_problems
from twinframe.cli.export import STDIO
from twinframe.cli.progress import open_bar, progress_option
from twinframe.errors import TwinframeError
from twinframe.graph.transfer.progress import Finding, ImportLog, Progress
from twinframe.hooks.installation import Installation, load_installation
from twinframe.model.clock import read_clock
from twinframe.service.opening import open_graph

_SHOWN: Final = 20


@click.command("import")
@click.argument("file")
@graph_option
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a log to this file, as NDJSON: one line for each line that was refused.",
)
@click.option(
    "--after-line",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Continue after line N, which an interrupted import has printed.",
)
@click.option(
    "--history/--no-history",
    default=True,
    show_default=True,
    help="Whether the changes and the values over time of the file are stored.",
)
@click.option(
    "--changes/--no-changes",
    default=True,
    show_default=True,
    help="Whether the changes of the file are stored, which only an empty graph takes.",
)
@progress_option
@config_option
def import_(
    file: str,
    graph: str,
    log: Path | None,
    after_line: int,
    config: Path | None,
    *,
    history: bool,
    changes: bool,
    progress: bool | None,
) -> None:
    """Store the models, twins and relationships of FILE, with its history; `-` is standard input.

    FILE is NDJSON as written by `twinframe export` or for the vendor's import, plain or gzip. The
    service may be running. Lines that cannot be stored are listed and left out. Exit code 1: there
    were such lines, or the file could not be read to its end.
    A history is stored whole or not at all, in an empty graph.
    """
    installation = load_installation(config)
    with ExitStack() as open_:
        bar = open_.enter_context(open_bar(progress))
        source, size = open_.enter_context(_open_source(file))
        out = open_.enter_context(log.open("wb")) if log else None
        run = _Run(installation, source, bar, bar.add_task("import", total=size), out, file)
        store = find_store(installation, graph)
        is_whole = asyncio.run(run.store(store, after_line, history=history, changes=changes))
    run.print_outcome()
    if not is_whole or run.done.errors:
        raise SystemExit(1)


class _Counted:
    """A source that advances the progress bar as it is read."""

    def __init__(self, source: IO[bytes], bar: Bar, task: TaskID) -> None:
        self._source, self._bar, self._task = source, bar, task

    def read(self, size: int, /) -> bytes:
        piece = self._source.read(size)
        self._bar.advance(self._task, len(piece))
        return piece


@dataclass(slots=True)
class _Group:
    """Refused lines with the same message: the first one, their number, and the last line."""

    first: Finding
    last: str
    lines: int = 1

    def render(self) -> str:
        one = self.first
        item = f", {one.item}" if one.item else ""
        like = f" and {self.lines - 1} like it, up to {self.last}" if self.lines > 1 else ""
        said = "; ".join([one.message, *(detail.message for detail in one.details)])
        return f"{one.position} ({one.section.value}{item}){like}: {said}"


class _Run:
    """One import with its report."""

    def __init__(
        self,
        installation: Installation,
        source: IO[bytes],
        bar: Bar,
        task: TaskID,
        out: IO[bytes] | None,
        file: str,
    ) -> None:
        self._installation = installation
        self._source = _Counted(source, bar, task)
        self._bar, self._task, self._out = bar, task, out
        self._log = ImportLog(file, read_clock)
        self._groups: dict[tuple[object, ...], _Group] = {}
        self.done = Progress()

    async def store(
        self, store: tuple[str, str], after_line: int, *, history: bool, changes: bool
    ) -> bool:
        """Import the file; return whether it was read to its end."""
        self._write(self._log.render_status("Started"))
        self.done = Progress(line=after_line)
        try:
            async with open_graph(self._installation, *store, upkeep=True) as graph:
                self.done = await graph.portable.import_graph(
                    self._source,
                    start=self.done,
                    history=history,
                    changes=changes,
                    report=self._report,
                )
        except TwinframeError as error:
            details = [{"code": x.code, "message": x.message} for x in error.details]
            self._write(self._log.render_failure(error.code, error.message, details))
            write_error(error)
            return False
        self._write(self._log.render_status("Succeeded" if not self.done.errors else "Failed"))
        return True

    def print_outcome(self) -> None:
        """Print the refused lines and the resulting counts."""
        write_problems(group.render() for group in self._groups.values())
        done = self.done
        more = done.errors - sum(group.lines for group in self._groups.values())
        if more:
            write_problems([f"... and {more} more lines; --log has them all."])
        there = f" ({done.skipped} were there already)" if done.skipped else ""
        past = f"{done.changes} changes, after " if done.changes else ""
        points = f", {done.points} points" if done.points else ""
        click.echo(
            f"Imported {past}{done.models} models{there}, {done.twins} twins, {done.relationships} "
            f"relationships{points}, up to line {done.line}; {done.errors} lines were refused."
        )

    def _report(self, progress: Progress, findings: Sequence[Finding]) -> None:
        self.done = progress
        for finding in findings:
            self._write(self._log.render_finding(finding))
            self._count(finding)
        counts = f"{progress.twins:,} twins, {progress.relationships:,} relationships"
        self._bar.update(self._task, description=counts)

    def _count(self, finding: Finding) -> None:
        """Add the finding to those that say the same, apart from the id it is about."""
        said = [finding.message, *(detail.message for detail in finding.details)]
        key = finding.section, *(each.replace(finding.item or "\0", "") for each in said)
        group = self._groups.get(key)
        if group is not None:
            group.lines += 1
            group.last = finding.position
        elif len(self._groups) < _SHOWN:
            self._groups[key] = _Group(finding, last=finding.position)

    def _write(self, line: bytes) -> None:
        if self._out is not None:
            self._out.write(line)


@contextmanager
def _open_source(file: str) -> Iterator[tuple[IO[bytes], int | None]]:
    if file == STDIO:
        yield sys.stdin.buffer, None
        return
    with Path(file).open("rb") as source:
        path = Path(file)
        yield source, path.stat().st_size if path.is_file() else None
