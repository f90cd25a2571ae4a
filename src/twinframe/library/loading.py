"""Finds the models, twins and relationships of files, folders and documents, and imports them.

Documents become a file in memory of the format of `twinframe import`, so that one code checks and
stores all.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from twinframe.errors import InvalidArgument
from twinframe.graph.documents.relationships import ID as RELATIONSHIP_ID
from twinframe.graph.documents.relationships import SOURCE, TARGET
from twinframe.graph.documents.twins import ID
from twinframe.graph.transfer.exporting import Portable
from twinframe.graph.transfer.lines import ByteSource
from twinframe.graph.transfer.progress import Finding, Progress
from twinframe.graph.transfer.sections import Header, Section, render_header, render_section
from twinframe.library.documents import JsonReader
from twinframe.model.json import JsonLimits, parse_json, render_json
from twinframe.model.values import JsonValue
from twinframe.settings import Settings

Loadable: TypeAlias = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
"""A file, a folder, or documents."""

_MOST_REFUSED: Final = 100
_DOCUMENTS: Final = ".json"
_LINES: Final = (".ndjson", ".ndjson.gz")
_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Refused:
    """What was not stored: `finding.line` is a line of `file`, of JSON the number of a document.

    `file` is None where documents were given.
    """

    file: Path | None
    finding: Finding

    def __str__(self) -> str:
        one = self.finding
        where = "" if self.file is None else f"{self.file}, "
        word = "document" if self.file is None or self.file.suffix == _DOCUMENTS else "line"
        said = "; ".join([one.message, *(detail.message for detail in one.details)])
        return f"{where}{word} {one.line}: {said}"


@dataclass(slots=True)
class Loaded:
    """How much was stored, and the first 100 of the `errors` that were refused.

    `skipped` are models that were there already, with the same document.
    """

    models: int = 0
    skipped: int = 0
    twins: int = 0
    relationships: int = 0
    errors: int = 0
    refused: list[Refused] = field(default_factory=list)

    def add(self, done: Progress) -> None:
        """Add what an import has stored."""
        self.models += done.models
        self.skipped += done.skipped
        self.twins += done.twins
        self.relationships += done.relationships
        self.errors += done.errors


@dataclass(frozen=True, slots=True)
class _Located:
    """A document, and where it stands: the file, and its number there, counted from 1."""

    file: Path | None
    number: int
    document: JsonValue


class Loader:
    """Loads one file, folder or list of documents."""

    def __init__(self, portable: Portable, reader: JsonReader, settings: Settings) -> None:
        self._portable = portable
        self._reader = reader
        self._limits = JsonLimits(settings.json_.max_depth, settings.json_.max_keys)
        self._found: dict[Section, list[_Located]] = {}
        self._files: list[Path] = []
        self._loaded = Loaded()

    async def load(self, source: Loadable) -> Loaded:
        """Load it: models, files of lines, then twins and relationships.

        Errors: `OSError`, `InvalidArgument`.
        """
        if isinstance(source, str | os.PathLike):
            await asyncio.to_thread(self._read, Path(source))
        else:
            for number, document in enumerate(source, start=1):
                self._sort(_Located(None, number, await self._reader.read(document)))
        await self._import_documents(Section.MODELS)
        for path in self._files:
            with await asyncio.to_thread(path.open, "rb") as lines:
                await self._import(lines, partial(Refused, path))
        await self._import_documents(Section.TWINS, Section.RELATIONSHIPS)
        return self._loaded

    # --- what there is

    def _read(self, path: Path) -> None:
        if not path.is_dir():
            self._take(path)
            return
        for file in sorted(path.rglob("*")):
            if file.name.endswith((_DOCUMENTS, *_LINES)) and file.is_file():
                self._take(file)
        if not self._files and not self._found:
            raise InvalidArgument(
                f"{path} has no file to load: no *{_DOCUMENTS}, *{' and *'.join(_LINES)}."
            )

    def _take(self, file: Path) -> None:
        if file.suffix != _DOCUMENTS:
            self._files.append(file)
            return
        try:
            found = parse_json(file.read_bytes().removeprefix(_MARK), self._limits, noun="file")
        except InvalidArgument as error:
            raise InvalidArgument(f"{file}: {error.message}") from error
        documents = found if isinstance(found, list) else [found]
        for number, document in enumerate(documents, start=1):
            self._sort(_Located(file, number, document))

    def _sort(self, one: _Located) -> None:
        """Note what a document is. Raises `InvalidArgument` if it is none of the three."""
        document = one.document
        members = document.keys() if isinstance(document, dict) else ()
        if "@id" in members:
            section = Section.MODELS
        elif RELATIONSHIP_ID in members or TARGET in members:
            section = Section.RELATIONSHIPS
        elif ID in members:
            section = Section.TWINS
        else:
            where = "" if one.file is None else f"{one.file}, "
            raise InvalidArgument(
                f"{where}document {one.number} is no model (@id), no twin ({ID}) and no "
                f"relationship ({RELATIONSHIP_ID})."
            )
        self._found.setdefault(section, []).append(one)

    # --- storing

    async def _import_documents(self, *sections: Section) -> None:
        lines: list[bytes] = [render_section(Section.HEADER), render_header(Header())]
        located: dict[int, _Located] = {}
        for section in sections:
            lines.append(render_section(section))
            for one in self._found.get(section, ()):
                lines.append(render_json(_name_source(one.document)))
                located[len(lines)] = one

        def locate(finding: Finding) -> Refused:
            one = located[finding.line]
            return Refused(one.file, replace(finding, line=one.number))

        if located:
            await self._import(io.BytesIO(b"\n".join(lines)), locate)

    async def _import(self, lines: ByteSource, locate: Callable[[Finding], Refused]) -> None:
        refused = self._loaded.refused

        def report(_progress: Progress, findings: Sequence[Finding]) -> None:
            refused.extend(map(locate, findings[: _MOST_REFUSED - len(refused)]))

        self._loaded.add(await self._portable.import_graph(lines, report=report))


def _name_source(document: JsonValue) -> JsonValue:
    """SPEC: a line of the vendor's format has the source of a relationship as `$dtId`."""
    if isinstance(document, dict) and SOURCE in document:
        return {ID: document[SOURCE], **{k: v for k, v in document.items() if k != SOURCE}}
    return document
