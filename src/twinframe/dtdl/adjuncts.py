"""Checks the constraints of adjunct types (semantic types, extensions) on elements around them too.

The constraints are data in `twinframe.dtdl.rules.extensions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from twinframe.dtdl.build import Builder
from twinframe.dtdl.findings import Findings, render_list, render_value
from twinframe.dtdl.graph import Element, ElementGraph, Predefined
from twinframe.dtdl.metamodel import AdjunctRule, Kind
from twinframe.dtdl.schemas import PrimitiveSchema
from twinframe.dtdl.values import list_mismatches


def check_adjuncts(element: Element, builder: Builder, findings: Findings) -> None:
    """Report the constraints of the adjunct types of `element` that it violates by itself.

    `builder` builds the schemas that values of adjunct properties must conform to.
    """
    bringers: dict[str, AdjunctRule] = {}
    names = {adjunct.name for adjunct in element.adjuncts}
    for adjunct in element.adjuncts:
        _check_place(element, adjunct, names, findings)
        _check_needs(element, adjunct, names, findings)
        _check_schema(element, adjunct, builder.graph, findings)
        _check_values(element, adjunct, builder, findings)
        for name in adjunct.properties:
            first = bringers.setdefault(name, adjunct)
            if first is adjunct:
                continue
            findings.add(
                "conflictingSupplementalTypes",
                f"has the types {first.name} and {adjunct.name}, which both bring the property "
                f"'{name}'; only one of them is allowed",
                element.document_path.at("@type"),
                element=element.id,
                prop="@type",
                value=adjunct.name,
            )
            break


def _check_place(
    element: Element, adjunct: AdjunctRule, names: set[str], findings: Findings
) -> None:
    version = element.context.rules.version
    if element.cls not in adjunct.on and adjunct.on_beside.get(element.cls) not in names:
        rule = "invalidCotype"
        text = f"the type {adjunct.name} is not for a {element.cls}; only for "
        allowed = [f"{cls} that is a {other}" for cls, other in adjunct.on_beside.items()]
        text += ", ".join([*sorted(adjunct.on), *allowed])
    elif version not in adjunct.versions:
        rule = "invalidCotypeVersion"
        text = f"the type {adjunct.name} is not for DTDL version {version}; only for "
        text += render_list(sorted(adjunct.versions))
    else:
        return
    document_path = element.document_path.at("@type")
    findings.add(rule, text, document_path, element=element.id, prop="@type", value=adjunct.name)


def _check_needs(
    element: Element, adjunct: AdjunctRule, names: set[str], findings: Findings
) -> None:
    for needed in sorted(adjunct.needs - names):
        findings.add(
            "missingCocotype",
            f"has the type {adjunct.name}, which needs the type {needed} beside it",
            element.document_path.at("@type"),
            element=element.id,
            prop="@type",
            value=adjunct.name,
        )
    for excluded in sorted(adjunct.excludes & names):
        findings.add(
            "disallowedCocotype",
            f"has the types {adjunct.name} and {excluded}, which must not stand together",
            element.document_path.at("@type"),
            element=element.id,
            prop="@type",
            value=adjunct.name,
        )


def _check_schema(
    element: Element, adjunct: AdjunctRule, graph: ElementGraph, findings: Findings
) -> None:
    schema = element.one("schema")
    wanted = adjunct.schemas or adjunct.schema_types
    if not wanted or schema is None:
        return
    target = None if isinstance(schema, Predefined) else graph.elements.get(schema)
    if isinstance(schema, Predefined):
        found = schema.name
    else:
        found = target.cls if target is not None else ""
    fits = found in adjunct.schemas
    if adjunct.schema_types and target is not None:
        fits = any(other.name in adjunct.schema_types for other in target.adjuncts)
    if found and not fits:
        kind = "a schema of" if adjunct.schemas else "a schema that has the type"
        findings.add(
            "notRequiredType",
            f"has the type {adjunct.name}, which needs {kind} "
            f"{', '.join(sorted(wanted))}; it has {found}",
            element.document_path.at("schema"),
            element=element.id,
            prop="schema",
            value=found,
        )


def _check_values(
    element: Element, adjunct: AdjunctRule, builder: Builder, findings: Findings
) -> None:
    for rule in adjunct.properties.values():
        if not rule.conforms:
            continue
        value = element.literals.get(rule.name, element.others.get(rule.name, ...))
        if value is ... or element.one("schema") is None:
            continue
        schema = builder.build_schema(element)
        if rule.kind is Kind.NUMERIC and schema == PrimitiveSchema("decimal"):
            # NOTE: a decimal value is a string, its bounds are JSON numbers.
            continue
        for mismatch in list_mismatches(schema, value):
            findings.add(
                "nonConformantPropertyValue",
                f"has the value {render_value(mismatch.value)} where the schema of the "
                f"{element.cls} wants {mismatch.right}",
                element.document_path.at(rule.name),
                element=element.id,
                prop=rule.name,
                value=value,
            )
            break


# --- adjunct types that name a sibling ----------------------------------------------------------


def check_siblings(interface: Element, contents: Mapping[str, Element], findings: Findings) -> None:
    """Report contents of an interface that name a sibling they must not.

    `contents` are the effective ones, by name: an inherited content may name one of the derived
    interface. A name without a sibling is no violation, as a derived interface may add it.
    """
    overridden: dict[tuple[str, str], str] = {}
    for content in contents.values():
        for adjunct in content.adjuncts:
            name = content.literals.get(adjunct.sibling or "")
            if not isinstance(name, str) or (sibling := contents.get(name)) is None:
                continue
            if interface.id not in (content.partition, sibling.partition):
                continue
            if _check_sibling(content, adjunct, sibling, findings):
                _check_override(interface, content, sibling, overridden, findings)


def _check_sibling(
    content: Element, adjunct: AdjunctRule, sibling: Element, findings: Findings
) -> bool:
    if sibling.cls not in adjunct.sibling_classes:
        rule = "notSiblingRequiredType"
        text = f"names '{sibling.name}', which is a {sibling.cls}; it must be a "
        text += " or ".join(sorted(adjunct.sibling_classes))
    elif adjunct in sibling.adjuncts:
        rule = "disallowedType"
        text = f"names '{sibling.name}', which is a {adjunct.name} itself"
    else:
        return True
    prop = adjunct.sibling or ""
    document_path = content.document_path.at(prop)
    findings.add(rule, text, document_path, element=content.id, prop=prop, value=sibling.name)
    return False


def _check_override(
    interface: Element,
    content: Element,
    sibling: Element,
    overridden: dict[tuple[str, str], str],
    findings: Findings,
) -> None:
    for adjunct in content.adjuncts:
        name = content.literals.get(adjunct.overrides or "")
        if not isinstance(name, str):
            continue
        first = overridden.setdefault((sibling.name, name), content.name)
        if first != content.name:
            text = f"'{first}' and '{content.name}' both override '{name}' of '{sibling.name}'"
            findings.add(
                "multipleReference",
                text,
                content.document_path,
                element=interface.id,
                prop="contents",
                value=name,
            )
        elif (wrong := _judge_override(name, content, sibling)) is not None:
            findings.add(
                *wrong,
                content.document_path,
                element=content.id,
                prop=adjunct.overrides or "",
                value=name,
            )


def _judge_override(name: str, content: Element, sibling: Element) -> tuple[str, str] | None:
    holders = [a for a in sibling.adjuncts if name in a.properties]
    schema = content.one("schema")
    spelled = schema.name if isinstance(schema, Predefined) else ""
    if name in sibling.context.rules.classes[sibling.cls].properties:
        return "matchingPropertyNotSupplemental", (
            f"names '{name}', which every {sibling.cls} has; only a property that an adjunct type "
            "brings can be overridden"
        )
    if not holders:
        return "noMatchingSupplementalProperty", (
            f"names '{name}', which no adjunct type of '{sibling.name}' brings"
        )
    wanted = holders[0].properties[name].value_type
    if wanted not in ("", spelled):
        return "siblingPropertyMismatch", (
            f"its schema must be {wanted}, the type of '{name}' on '{sibling.name}'; "
            f"it is {spelled or 'another'}"
        )
    return None


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
