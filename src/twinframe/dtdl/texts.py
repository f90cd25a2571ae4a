"""Reads model documents from text files, parses them as one set, and adds line and column to
findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from twinframe.dtdl.findings import ModelFinding
from twinframe.dtdl.interfaces import ModelSet
from twinframe.dtdl.limits import SPECIFICATION, ParserLimits
from twinframe.dtdl.parser import Resolver, parse_models
from twinframe.dtdl.positions import find_positions
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
