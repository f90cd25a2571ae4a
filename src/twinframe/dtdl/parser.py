"""`parse_models`, the entry point of the DTDL parser: checked interfaces or all findings.

It runs the phases in order; each phase is a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType

from twinframe.dtdl.build import Builder
from twinframe.dtdl.context import ContextReader
from twinframe.dtdl.elements import ElementReader
from twinframe.dtdl.findings import DocumentPath, Findings, render_value
from twinframe.dtdl.graph import ElementGraph
from twinframe.dtdl.interfaces import ModelSet
from twinframe.dtdl.limits import SPECIFICATION, ParserLimits
from twinframe.dtdl.structure import Structure, list_missing
from twinframe.errors import ModelParsingFailed, ModelVersionNotSupported

Resolver = Callable[[frozenset[str]], Iterable[object]]
"""Returns the documents of the given interface DTMIs, as many of them as it has."""


def parse_models(
    documents: Sequence[object],
    *,
    resolve: Resolver | None = None,
    limits: ParserLimits = SPECIFICATION,
    trusted: bool = False,
) -> ModelSet:
    """Parse and check model documents as one set; their order does not matter.

    `documents` are decoded JSON values, each an Interface object. `resolve` is called, in rounds,
    for interfaces that `extends` or component schemas refer to and that are not in the set;
    relationship targets are never resolved and may dangle. `trusted` documents were checked when
    they were stored, maybe by laxer rules: they are parsed and not checked again. What cannot be
    parsed in them is left out, and so is a document of which nothing can be parsed.

    Raises `ModelParsingFailed` with one `ModelFinding` a broken rule, or `ModelVersionNotSupported`
    where a document uses an unsupported language version.
    """
    findings = Findings(muted=trusted)
    graph = ElementGraph()
    contexts = ContextReader(findings, limits)
    reader = ElementReader(graph, findings, limits, contexts, resolving=trusted)
    uploaded: list[str] = []
    for index, document in enumerate(documents):
        uploaded += _read_document(reader, document, DocumentPath(index))
    if resolve is not None:
        _resolve(reader, resolve, len(documents), limits)
    structure = Structure(graph, findings, limits)
    structure.check()
    _raise_findings(findings, contexts)
    interfaces = Builder(graph).build_interfaces(structure.contents)
    return ModelSet(MappingProxyType(interfaces), tuple(uploaded))


def _read_document(
    reader: ElementReader, document: object, document_path: DocumentPath
) -> list[str]:
    """Return the DTMIs of the interfaces at the top of a document."""
    if isinstance(document, dict):
        element = reader.parse_root(document, document_path)
        return [] if element is None else [element.id]
    if (
        isinstance(document, list)
        and reader.limits.allow_document_arrays
        and document_path.above is None
    ):
        parts = (
            _read_document(reader, item, document_path.at(n)) for n, item in enumerate(document)
        )
        return [identifier for part in parts for identifier in part]
    reader.findings.add(
        "notJsonObject",
        f"is {render_value(document)}; a model document must be a JSON object, an Interface",
        document_path,
        value=document,
    )
    return []


def _resolve(reader: ElementReader, resolve: Resolver, index: int, limits: ParserLimits) -> None:
    before_resolving, reader.resolving = reader.resolving, True
    asked: set[str] = set()
    before = reader.findings.muted
    reader.findings.muted = before or limits.trust_resolved
    try:
        while missing := list_missing(reader.graph) - asked:
            asked |= missing
            for document in resolve(frozenset(missing)):
                if _is_new(reader, document):
                    _read_document(reader, document, DocumentPath(index))
                index += 1
    finally:
        reader.findings.muted = before
        reader.resolving = before_resolving


def _is_new(reader: ElementReader, document: object) -> bool:
    identifier = document.get("@id") if isinstance(document, dict) else None
    return not (isinstance(identifier, str) and identifier in reader.graph.elements)


def _raise_findings(findings: Findings, contexts: ContextReader) -> None:
    if not findings.items:
        return
    count = len(findings.items) + findings.dropped
    first = findings.items[0].message
    more = "" if count == 1 else f" And {count - 1} more, see details."
    if contexts.unsupported:
        raise ModelVersionNotSupported(f"{first}{more}", details=tuple(findings.items))
    raise ModelParsingFailed(
        f"The models break the rules of DTDL: {first}{more}", details=tuple(findings.items)
    )
