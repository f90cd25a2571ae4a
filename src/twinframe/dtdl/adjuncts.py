"""What adjunct types (semantic types, extensions) demand of the element they stand on.

The demands themselves are data in `twinframe.dtdl.rules.extensions`; this applies them.
"""

from __future__ import annotations

from collections.abc import Mapping

from twinframe.dtdl.findings import Findings, render_nearest
from twinframe.dtdl.graph import Element, ElementGraph, Predefined
from twinframe.dtdl.metamodel import AdjunctRule


def check_adjuncts(
    element: Element, siblings: Mapping[str, Element], graph: ElementGraph, findings: Findings
) -> None:
    """Report what the adjunct types of `element` demand and it does not meet.

    `siblings` are the effective contents of the interface around it, by name.
    """
    groups: dict[str, AdjunctRule] = {}
    names = {adjunct.name for adjunct in element.adjuncts}
    for adjunct in element.adjuncts:
        _check_place(element, adjunct, findings)
        _check_needs(element, adjunct, names, findings)
        _check_schema(element, adjunct, graph, findings)
        _check_sibling(element, adjunct, siblings, findings)
        if adjunct.group is None:
            continue
        first = groups.setdefault(adjunct.group, adjunct)
        if first is not adjunct:
            findings.add(
                "conflictingSupplementalTypes",
                f"has the types {first.name} and {adjunct.name}; only one {adjunct.group} is "
                "allowed",
                element.place.at("@type"),
                element=element.id,
                prop="@type",
                value=adjunct.name,
            )


def _check_place(element: Element, adjunct: AdjunctRule, findings: Findings) -> None:
    rule = text = ""
    if element.context.rules.version not in adjunct.versions:
        rule, text = (
            "invalidCotypeVersion",
            (f"the type {adjunct.name} is not for DTDL version {element.context.rules.version}"),
        )
    elif element.cls not in adjunct.on:
        rule, text = (
            "invalidCotype",
            (
                f"the type {adjunct.name} is not for a {element.cls}; "
                f"only for {', '.join(sorted(adjunct.on))}"
            ),
        )
    if rule:
        findings.add(
            rule,
            text,
            element.place.at("@type"),
            element=element.id,
            prop="@type",
            value=adjunct.name,
        )


def _check_needs(
    element: Element, adjunct: AdjunctRule, names: set[str], findings: Findings
) -> None:
    for needed in sorted(adjunct.needs - names):
        findings.add(
            "missingCocotype",
            f"has the type {adjunct.name}, which needs the type {needed} beside it",
            element.place.at("@type"),
            element=element.id,
            prop="@type",
            value=adjunct.name,
        )


def _check_schema(
    element: Element, adjunct: AdjunctRule, graph: ElementGraph, findings: Findings
) -> None:
    schema = element.one("schema")
    if not adjunct.schemas or schema is None:
        return
    if isinstance(schema, Predefined):
        found = schema.name
    else:
        target = graph.elements.get(schema)
        found = target.cls if target is not None else ""
    if found and found not in adjunct.schemas:
        findings.add(
            "notRequiredType",
            f"has the type {adjunct.name}, which needs a schema of "
            f"{', '.join(sorted(adjunct.schemas))}; it has {found}",
            element.place.at("schema"),
            element=element.id,
            prop="schema",
            value=found,
        )


def _check_sibling(
    element: Element, adjunct: AdjunctRule, siblings: Mapping[str, Element], findings: Findings
) -> None:
    if adjunct.sibling is None:
        return
    name = element.literals.get(adjunct.sibling)
    if not isinstance(name, str):
        return
    sibling = siblings.get(name)
    if sibling is None:
        rule = "noMatchingSibling"
        text = f"names '{name}', which is no content of its interface."
        text += render_nearest(name, siblings)
    elif sibling.cls not in adjunct.sibling_classes:
        rule = "notSiblingRequiredType"
        text = f"names '{name}', which is a {sibling.cls}; it must be a "
        text += " or ".join(sorted(adjunct.sibling_classes))
    elif adjunct in sibling.adjuncts:
        rule = "disallowedType"
        text = f"names '{name}', which is a {adjunct.name} itself"
    else:
        _check_override(element, sibling, findings)
        return
    findings.add(
        rule,
        text,
        element.place.at(adjunct.sibling),
        element=element.id,
        prop=adjunct.sibling,
        value=name,
    )


def _check_override(element: Element, sibling: Element, findings: Findings) -> None:
    for adjunct in element.adjuncts:
        name = element.literals.get(adjunct.overrides or "")
        if not isinstance(name, str):
            continue
        holders = [a for a in sibling.adjuncts if name in a.properties]
        schema = element.one("schema")
        spelled = schema.name if isinstance(schema, Predefined) else ""
        if name in sibling.context.rules.classes[sibling.cls].properties:
            rule = "matchingPropertyNotSupplemental"
            text = f"names '{name}', which every {sibling.cls} has; only an adjunct type's "
            text += "property can be overridden"
        elif not holders:
            rule = "noMatchingSupplementalProperty"
            text = f"names '{name}', which no adjunct type of '{sibling.name}' brings"
        elif holders[0].properties[name].value_type not in ("", spelled):
            rule = "siblingPropertyMismatch"
            text = f"its schema must be {holders[0].properties[name].value_type}, the type of "
            text += f"'{name}' on '{sibling.name}'; it is {spelled or 'another'}"
        else:
            continue
        findings.add(
            rule,
            text,
            element.place,
            element=element.id,
            prop=adjunct.overrides or "",
            value=name,
        )
