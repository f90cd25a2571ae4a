"""`parse_models`: model documents in, checked interfaces out, or every finding at once.

It orders the phases; each phase lives in a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType

from twinframe.dtdl.build import Builder
from twinframe.dtdl.context import ContextReader
from twinframe.dtdl.elements import ElementReader
from twinframe.dtdl.findings import Findings, Place, render_value
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
) -> ModelSet:
    """Parse and check model documents as one set; their order does not matter.

    `documents` are decoded JSON values, each an Interface object. `resolve` is asked, in rounds,
    for interfaces that `extends` or component schemas refer to and that are not in the set;
    relationship targets are never asked for and may dangle. Raises `ModelParsingFailed` with one
    `ModelFinding` a broken rule, or `ModelVersionNotSupported` where a document asks for a
    language version that is not supported.
    """
    findings = Findings()
    graph = ElementGraph()
    contexts = ContextReader(findings, limits)
    reader = ElementReader(graph, findings, limits, contexts)
    for index, document in enumerate(documents):
        _read_document(reader, document, Place(index))
    if resolve is not None:
        _resolve(reader, resolve, len(documents), limits)
    structure = Structure(graph, findings, limits)
    structure.check()
    _raise_findings(findings, contexts)
    interfaces = Builder(graph).build_interfaces(structure.contents, structure.contents)
    return ModelSet(MappingProxyType(interfaces), tuple(graph.uploaded))


def _read_document(reader: ElementReader, document: object, place: Place) -> None:
    if isinstance(document, dict):
        element = reader.parse_root(document, place)
        if element is not None and not reader.resolving:
            reader.graph.uploaded.append(element.id)
        return
    if isinstance(document, list) and reader.limits.allow_document_arrays and not place.path:
        for position, item in enumerate(document):
            _read_document(reader, item, place.at(position))
        return
    reader.findings.add(
        "notJsonObject",
        f"is {render_value(document)}; a model document must be a JSON object, an Interface",
        place,
        value=document,
    )


def _resolve(reader: ElementReader, resolve: Resolver, index: int, limits: ParserLimits) -> None:
    reader.resolving = True
    asked: set[str] = set()
    before = reader.findings.muted
    reader.findings.muted = limits.trust_resolved
    try:
        while missing := list_missing(reader.graph) - asked:
            asked |= missing
            for document in resolve(frozenset(missing)):
                if _is_new(reader, document):
                    _read_document(reader, document, Place(index))
                index += 1
    finally:
        reader.findings.muted = before
        reader.resolving = False


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
