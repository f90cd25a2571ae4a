"""Checks the constraints of adjunct types on the surrounding elements: the parent and the other
values.

The constraints are data in `twinframe.dtdl.rules`; `twinframe.dtdl.adjuncts` checks those on the
element itself and on siblings that it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from twinframe.dtdl.findings import Findings, render_value
from twinframe.dtdl.graph import Element, ElementGraph
from twinframe.dtdl.metamodel import AdjunctRule


@dataclass(slots=True)
class _Family:
    """The values of one property of `parent`, and the state of checking them."""

    parent: Element
    prop: str
    children: list[Element]
    firsts: dict[str, Element] = field(default_factory=dict)
    seen: dict[tuple[str, object], Element] = field(default_factory=dict)


def check_families(parent: Element, graph: ElementGraph, findings: Findings) -> None:
    """Report violated constraints between the types of `parent` and of its values."""
    for prop, values in parent.values.items():
        children = [
            child
            for value in values
            if isinstance(value, str) and (child := graph.elements.get(value)) is not None
        ]
        family = _Family(parent, prop, children)
        names = {adjunct.name for child in children for adjunct in child.adjuncts}
        for child in children:
            for adjunct in child.adjuncts:
                _check_member(child, adjunct, family, names, findings)
        for adjunct in parent.adjuncts:
            if adjunct.children is not None and adjunct.children[0] == prop:
                _check_children(family, adjunct, adjunct.children[1], findings)


def _check_member(
    child: Element, adjunct: AdjunctRule, family: _Family, names: set[str], findings: Findings
) -> None:
    document_path = child.document_path.at("@type")
    if adjunct.parents and not _has_one(family.parent, adjunct.parents):
        findings.add(
            "parentMissingCotype",
            f"has the type {adjunct.name}, which needs the type {_render(adjunct.parents)} on "
            f"{family.parent.id} around it",
            document_path,
            element=child.id,
            prop=family.prop,
            value=adjunct.name,
        )
    for missing in sorted(adjunct.siblings - names):
        findings.add(
            "siblingMissingCotype",
            f"has the type {adjunct.name}, which needs another of the {family.prop} to have the "
            f"type {missing}",
            document_path,
            element=child.id,
            prop=family.prop,
            value=adjunct.name,
        )
    if adjunct.once:
        first = family.firsts.setdefault(adjunct.name, child)
        if first is not child:
            findings.add(
                "siblingDuplicatesCotype",
                f"has the type {adjunct.name}, as {first.id} has; only one of the {family.prop} "
                "may have it",
                document_path,
                element=child.id,
                prop=family.prop,
                value=adjunct.name,
            )
    for rule in adjunct.properties.values():
        if rule.differs and (value := child.literals.get(rule.name)) is not None:
            _check_difference(child, rule.name, value, family, findings)


def _check_difference(
    child: Element, name: str, value: object, family: _Family, findings: Findings
) -> None:
    first = family.seen.setdefault((name, value), child)
    if first is not child:
        findings.add(
            "nonUniquePropertyValue",
            f"more than one value has '{name}' {render_value(value)}; first at "
            f"{first.document_path.pointer}; each must differ",
            child.document_path.at(name),
            element=family.parent.id,
            prop=family.prop,
            value=value,
        )


def _check_children(
    family: _Family, adjunct: AdjunctRule, allowed: frozenset[str], findings: Findings
) -> None:
    for child in family.children:
        if not _has_one(child, allowed):
            findings.add(
                "notRequiredType",
                f"has the type {adjunct.name}, which needs each of its {family.prop} to have the "
                f"type {_render(allowed)}; {child.id} has none of them",
                child.document_path,
                element=family.parent.id,
                prop=family.prop,
                value=child.id,
            )


def _has_one(element: Element, names: frozenset[str]) -> bool:
    return any(adjunct.name in names for adjunct in element.adjuncts)


def _render(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))
