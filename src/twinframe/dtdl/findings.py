"""The findings of parsing models: one for each broken rule, collected and raised together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from twinframe.errors import ErrorDetail
from twinframe.errors.nearest import find_nearest

MAX_FINDINGS = 1000
"""The number of findings kept of one upload; further ones are only counted."""
MAX_SUGGESTIONS = 50
"""The findings of one upload that suggest the nearest known name; comparing names is expensive."""
MAX_COMPARED = 1000
"""The number of known names up to which similar ones are searched; beyond, only letter case is."""


@dataclass(slots=True, eq=False)
class DocumentPath:
    """The position of an element or value: document index, and the step from above.

    PERF: a linked list towards the root is cheap to extend, one object a step; the path is rendered
    on demand. Places are not changed; freezing them would triple their cost.
    """

    document: int
    above: DocumentPath | None = None
    step: str | int = ""

    def at(self, step: str | int) -> DocumentPath:
        """Return the place one step further down."""
        return DocumentPath(self.document, self, step)

    @property
    def pointer(self) -> str:
        """The path as an RFC 6901 JSON pointer; the empty string is the whole document."""
        steps: list[str] = []
        document_path = self
        while document_path.above is not None:
            steps.append(str(document_path.step).replace("~", "~0").replace("/", "~1"))
            document_path = document_path.above
        return "".join(f"/{step}" for step in reversed(steps))


@dataclass(frozen=True, slots=True)
class ModelFinding(ErrorDetail):
    """One rule of the language broken in one place.

    `target` points into the list of documents, `pointer` into the one of the finding. `code` is the
    rule, in the vocabulary of the public .NET parser (`invalidId`, `badType`, ...); `element` is
    the DTMI of the offending element, or empty where it has none yet; `value` is the offending
    value shortened to its JSON text; `pointer` is an RFC 6901 JSON pointer. If the text is known,
    `source` names it and `line` and `column` (from 1) give the position in it; else they are empty
    and 0. `reason` is the message without the place.
    """

    element: str = ""
    property: str = ""
    value: str = ""
    document: int = 0
    pointer: str = ""
    reason: str = ""
    source: str = ""
    line: int = 0
    column: int = 0

    def locate(self, source: str, line: int, column: int) -> ModelFinding:
        """Return the same finding with its position in the text named `source`."""
        where = f"{source}, line {line}" if line else source
        where += f", at {self.pointer}" if self.pointer else ""
        return replace(
            self,
            message=f"{self.reason} ({where})",
            source=source,
            line=line,
            column=column,
        )


def render_value(value: object, limit: int = 80) -> str:
    """Return `value` as JSON text of at most `limit` characters."""
    if isinstance(value, (list, dict)) and len(value) > 20:
        return f"{'an array' if isinstance(value, list) else 'an object'} of {len(value)} entries"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def render_list(items: Iterable[object]) -> str:
    """Return `a, b and c`."""
    *most, last = [str(item) for item in items]
    return f"{', '.join(most)} and {last}" if most else last


def render_nearest(name: object, known: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?` for the known name nearest to `name`, or nothing."""
    if not isinstance(name, str) or not name or len(name) > 200:
        return ""
    candidates = list(known)
    if len(candidates) > MAX_COMPARED:
        candidates = [each for each in candidates if each.lower() == name.lower()]
    near = find_nearest(name, candidates, cutoff=0.7)
    return f" Did you mean '{near}'?" if near else ""


@dataclass(slots=True)
class Findings:
    """Collects findings; `muted` drops them, for documents that were validated before."""

    muted: bool = False
    items: list[ModelFinding] = field(default_factory=list)
    dropped: int = 0
    suggestions: int = 0

    def suggest(self, name: object, known: Iterable[str], *, terms_only: bool = False) -> str:
        """Return ` Did you mean 'x'?` while suggestions last; `terms_only` leaves out DTMIs."""
        if self.muted or self.suggestions >= MAX_SUGGESTIONS:
            return ""
        self.suggestions += 1
        if terms_only:
            known = [term for term in known if not term.startswith("dtmi:")]
        return render_nearest(name, known)

    def add(
        self,
        rule: str,
        text: str,
        document_path: DocumentPath,
        *,
        element: str = "",
        prop: str = "",
        value: object = ...,
    ) -> None:
        """Record that `rule` is broken at `document_path`; `text` says what would be right."""
        if self.muted:
            return
        if len(self.items) >= MAX_FINDINGS:
            self.dropped += 1
            return
        subject = element or "A model element"
        if prop:
            subject += f", property '{prop}'"
        pointer = document_path.pointer
        where = f"document {document_path.document}, at {pointer or 'its root'}"
        self.items.append(
            ModelFinding(
                code=rule,
                message=f"{subject}: {text} ({where})",
                reason=f"{subject}: {text}",
                element=element,
                property=prop,
                value="" if value is ... else render_value(value),
                document=document_path.document,
                pointer=pointer,
                target=f"/{document_path.document}{pointer}",
            )
        )
