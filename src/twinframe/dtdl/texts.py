"""Reads model documents from text files as one set, and adds line and column to findings."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from twinframe.dtdl.findings import ModelFinding
from twinframe.dtdl.interfaces import ModelSet
from twinframe.dtdl.limits import SPECIFICATION, ParserLimits
from twinframe.dtdl.parser import Resolver, parse_models
from twinframe.errors import ErrorDetail, ModelParsingFailed, ModelVersionNotSupported


@dataclass(frozen=True, slots=True)
class ModelText:
    """A JSON text with one model or an array of models; `name` is its name in findings."""

    name: str
    text: str

    def index_models(self) -> dict[str, object]:
        """Return those of its models that have a DTMI, by DTMI, unchecked.

        Raises `ModelParsingFailed` if it is not JSON.
        """
        try:
            value = orjson.loads(self.text)
        except orjson.JSONDecodeError as error:
            finding = _build_syntax_finding(self, 0, error)
            raise ModelParsingFailed(finding.message, details=(finding,)) from error
        found: dict[str, object] = {}
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and isinstance(item.get("@id"), str):
                found[item["@id"]] = item
        return found


def read_model_files(paths: Iterable[Path]) -> list[ModelText]:
    """Read files, and of folders every `*.json` below them, each file once, in order of names.

    Raises `OSError` where a file cannot be read and `ModelParsingFailed` where one is not UTF-8.
    """
    found: dict[Path, None] = {}
    for path in paths:
        found |= dict.fromkeys(sorted(path.rglob("*.json")) if path.is_dir() else [path])
    return [ModelText(str(path), _read(path)) for path in found]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelParsingFailed(
            f"{path} is not UTF-8 text: byte {error.start} is 0x{error.object[error.start]:02x}"
        ) from error


def parse_model_texts(
    texts: Sequence[ModelText],
    *,
    resolve: Resolver | None = None,
    limits: ParserLimits = SPECIFICATION,
) -> ModelSet:
    """Parse and check the models of all texts as one set, as `parse_models` does.

    A finding names the text and the line. A text that is not JSON is a finding (`notJson`) too, and
    the others are checked all the same. Raises the errors of `parse_models`.
    """
    documents: list[object] = []
    broken: list[ModelFinding] = []
    for index, text in enumerate(texts):
        try:
            documents.append(orjson.loads(text.text))
        except orjson.JSONDecodeError as error:
            documents.append([])
            broken.append(_build_syntax_finding(text, index, error))
    try:
        models = parse_models(documents, resolve=resolve, limits=limits)
    except (ModelParsingFailed, ModelVersionNotSupported) as error:
        unread = {finding.document for finding in broken}
        found = [d for d in error.details if getattr(d, "document", None) not in unread]
        located = [*broken, *locate_findings(found, texts)]
        raise type(error)(_summarize(located), details=tuple(located)) from error
    if broken:
        raise ModelParsingFailed(_summarize(broken), details=tuple(broken))
    return models


def _build_syntax_finding(
    text: ModelText, index: int, error: orjson.JSONDecodeError
) -> ModelFinding:
    reason = f"A model document is no JSON: {error.msg}"
    finding = ModelFinding("notJson", reason, document=index, reason=reason)
    return finding.locate(text.name, error.lineno, error.colno)


def locate_findings(
    details: Iterable[ErrorDetail], texts: Sequence[ModelText]
) -> list[ErrorDetail]:
    """Return findings with line and column, where their document is one of `texts`."""
    items = list(details)
    pointers: dict[int, set[str]] = {}
    for item in items:
        if isinstance(item, ModelFinding) and item.document < len(texts):
            pointers.setdefault(item.document, set()).update(_list_ancestors(item.pointer))
    positions = {index: find_positions(texts[index].text, p) for index, p in pointers.items()}
    located: list[ErrorDetail] = []
    for item in items:
        if not isinstance(item, ModelFinding) or item.document not in positions:
            located.append(item)
            continue
        known = positions[item.document]
        document_path = next(known[p] for p in _list_ancestors(item.pointer) if p in known)
        located.append(
            item.locate(texts[item.document].name, document_path.line, document_path.column)
        )
    return located


def _list_ancestors(pointer: str) -> Iterator[str]:
    """Yield a pointer and those above it, nearest first; the last is that of the whole text."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]
    yield pointer


def _summarize(details: Sequence[ErrorDetail]) -> str:
    count = len(details)
    more = "" if count == 1 else f" And {count - 1} more, see details."
    return f"The models break the rules of DTDL: {details[0].message}{more}"


# PERF: strings and other scalars are one match each, so that the loop runs once a token.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Position:
    """A position in a text; lines and columns count from 1, columns in characters."""

    line: int
    column: int


@dataclass(slots=True)
class _Level:
    """An open object or array: its pointer and the current member."""

    pointer: str
    is_object: bool
    index: int = 0
    key: str | None = None

    def step(self) -> str:
        """Return the pointer of the current member."""
        member = self.key if self.is_object and self.key is not None else str(self.index)
        return f"{self.pointer}/{member.replace('~', '~0').replace('/', '~1')}"


def find_positions(text: str, pointers: Collection[str]) -> dict[str, _Position]:
    """Return the position of every RFC 6901 pointer that has a value in `text`, which is JSON.

    For a member of an object it is that of the key, where a reader looks for it. For a key that an
    object has twice it is the last, which is the one that counts.
    """
    wanted = set(pointers)
    offsets = {pointer: start for pointer, start in _list_offsets(text) if pointer in wanted}
    return _build_positions(text, offsets)


def _build_positions(text: str, offsets: dict[str, int]) -> dict[str, _Position]:
    """Return line and column of offsets into a text."""
    positions: dict[str, _Position] = {}
    line, start = 1, 0
    for pointer, offset in sorted(offsets.items(), key=lambda item: item[1]):
        line += text.count("\n", start, offset)
        start = offset
        positions[pointer] = _Position(line, offset - text.rfind("\n", 0, offset))
    return positions


def _list_offsets(text: str) -> Iterator[tuple[str, int]]:
    levels: list[_Level] = []
    for match in _TOKEN.finditer(text):
        lexeme = match[0]
        level = levels[-1] if levels else None
        if lexeme in "]}":
            levels.pop()
        elif lexeme == ",":
            if level is not None:
                level.index += 1
                level.key = None
        elif lexeme == ":":
            continue
        elif level is not None and level.is_object and level.key is None:
            level.key = json.loads(lexeme, strict=False)
            yield level.step(), match.start()
        else:
            pointer = "" if level is None else level.step()
            if level is None or not level.is_object:
                yield pointer, match.start()
            if lexeme in "[{":
                levels.append(_Level(pointer, lexeme == "{"))
