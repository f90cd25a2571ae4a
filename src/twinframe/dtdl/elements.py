"""The generic element parser: one routine for every class, driven by the tables of the language.

It parses one document at a time; `twinframe.dtdl.structure` checks rules across elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twinframe.dtdl import dtmi
from twinframe.dtdl.context import Context, ContextReader
from twinframe.dtdl.cotypes import Types, judge_undefined_property, parse_types, render_types
from twinframe.dtdl.findings import DocumentPath, Findings, render_value
from twinframe.dtdl.graph import (
    Element,
    ElementGraph,
    Reference,
    Value,
    pack_values,
    predefined,
)
from twinframe.dtdl.langstrings import parse_lang_string
from twinframe.dtdl.limits import ParserLimits
from twinframe.dtdl.literals import Literal, LiteralReader, Subject
from twinframe.dtdl.metamodel import Kind, PropertyRule

_READ_KEYWORDS = frozenset({"@context", "@id", "@type"})
_ROOT = PropertyRule("", Kind.ELEMENT, classes=frozenset({"Interface"}), id_required=True)


@dataclass(slots=True, eq=False)
class Spot:
    """The position of an element: the element and property around it, and its nesting depth."""

    parent: Element | None
    rule: PropertyRule
    context: Context
    document_path: DocumentPath
    depth: int


@dataclass(slots=True)
class ElementReader:
    """Parses elements of decoded JSON into a graph."""

    graph: ElementGraph
    findings: Findings
    limits: ParserLimits
    contexts: ContextReader
    resolving: bool = False
    doubles: dict[str, int] = field(default_factory=dict)
    literals: LiteralReader = field(init=False)

    def __post_init__(self) -> None:
        self.literals = LiteralReader(self.findings)

    def parse_root(
        self, document: Mapping[str, object], document_path: DocumentPath
    ) -> Element | None:
        """Read one top-level object, which must be an Interface."""
        if "@graph" in document and "@context" in document:
            self.findings.add(
                "topLevelGraphDisallowed",
                "'@graph' is not allowed; give the models as an array",
                document_path,
            )
            return None
        if "@context" not in document:
            self.findings.add(
                "missingContext",
                "'@context' is missing; it must name the DTDL version, "
                "such as 'dtmi:dtdl:context;3'",
                document_path,
            )
            return None
        context = self.contexts.parse_context(
            document["@context"], None, document_path.at("@context")
        )
        if context is None:
            return None
        return self._parse_object(document, Spot(None, _ROOT, context, document_path, 0))

    # --- one element ----------------------------------------------------------------------------

    def _parse_object(self, source: Mapping[str, object], spot: Spot) -> Element | None:
        if spot.depth > self.limits.max_nesting:
            self.findings.add(
                "excessiveNesting",
                f"elements are nested more than {self.limits.max_nesting} deep",
                spot.document_path,
            )
            return None
        context = self._parse_own_context(source, spot)
        if context is None:
            return None
        if not self._check_keywords(source, spot, context):
            return None
        types = self._parse_element_types(source, spot, context)
        if types is None:
            return None
        cls = types.classes[0]
        identifier, generated = self._parse_id(source, spot, context, cls)
        if identifier is None:
            return None
        element = Element(
            id=identifier,
            cls=cls,
            context=context,
            document_path=spot.document_path,
            partition=spot.parent.partition if spot.parent and cls != "Interface" else identifier,
            parent=spot.parent,
            rule=spot.rule,
            generated_id=generated,
            resolved=self.resolving and self.limits.trust_resolved,
            tolerant=self._is_tolerant(context),
            adjuncts=tuple(types.adjuncts),
            undefined_types=types.undefined,
            inferred="@type" not in source,
        )
        self._register(element)
        self._parse_properties(source, element, spot.depth)
        return element

    def _parse_own_context(self, source: Mapping[str, object], spot: Spot) -> Context | None:
        if spot.parent is None or "@context" not in source:
            return spot.context
        document_path = spot.document_path.at("@context")
        return self.contexts.parse_context(source["@context"], spot.context, document_path)

    def _register(self, element: Element) -> None:
        known = self.graph.elements.get(element.id)
        if known is None:
            self.graph.elements[element.id] = element
            return
        if element.generated_id:
            # NOTE: equal generated ids mean equal names; that is reported as such, and the element
            # is kept under an id of its own so that the rest of it is still checked.
            number = self.doubles[element.id] = self.doubles.get(element.id, 1) + 1
            element.id = f"{element.id}#{number}"
            self.graph.elements[element.id] = element
            return
        self.findings.add(
            "duplicateDefinition",
            "is defined more than once; first at "
            f"document {known.document_path.document}, {known.document_path.pointer or 'its root'}",
            element.document_path,
            element=element.id,
            value=element.id,
        )

    def _is_tolerant(self, context: Context) -> bool:
        limits = self.limits
        wanted = limits.tolerate_resolved_solecisms if self.resolving else limits.tolerate_solecisms
        return wanted and context.rules.solecisms

    def _check_keywords(self, source: Mapping[str, object], spot: Spot, context: Context) -> bool:
        top = spot.parent is None
        for key in source:
            if not key.startswith("@") or key in _READ_KEYWORDS:
                continue
            if key != "@graph" and not context.rules.strict_keywords:
                continue
            rule = "graphDisallowed" if key == "@graph" else "keywordDisallowed"
            self.findings.add(
                f"topLevel{rule[0].upper()}{rule[1:]}" if top else rule,
                f"'{key}' is not allowed here; only '@context', '@id' and '@type' are",
                spot.document_path.at(key),
                element=spot.parent.id if spot.parent else "",
                prop=spot.rule.name,
                value=key,
            )
            return False
        return True

    # --- @type ----------------------------------------------------------------------------------

    def _parse_element_types(
        self, source: Mapping[str, object], spot: Spot, context: Context
    ) -> Types | None:
        label = _label(source, spot)
        if "@type" not in source:
            return self._infer_type(source, spot, context, label)
        types = parse_types(
            source["@type"], context, self.findings, spot.document_path.at("@type"), label
        )
        allowed = spot.rule.classes
        if not types.classes:
            if not types.broken:
                text = f"'@type' names no class; it must be one of {render_types(allowed)}"
                self._bad_type("badType", spot, label, text, source["@type"])
            return None
        if len(types.classes) > 1:
            text = f"has the types {render_types(types.classes)}; it takes one of them"
            self._bad_type("multipleMaterialTypes", spot, label, text, types.classes)
            return None
        cls = types.classes[0]
        if cls not in allowed or cls not in context.rules.classes:
            rule = "badType" if spot.parent else "typeNotRootable"
            text = f"a value has the type {cls}; allowed here: {render_types(allowed)}"
            self._bad_type(rule, spot, label, text, cls)
            return None
        return types

    def _infer_type(
        self, source: Mapping[str, object], spot: Spot, context: Context, label: str
    ) -> Types | None:
        cls = spot.rule.infer
        if cls is not None and cls in context.rules.classes:
            return Types(classes=[cls])
        if cls is not None:
            text = f"a value must be a {cls}, which DTDL version {context.rules.version} has not"
            self._bad_type("disallowedVersionDefinition", spot, label, text, cls)
        elif "@id" in source and set(source) <= {"@id", "@context"}:
            text = "an element is given as an object with nothing but '@id'; write the DTMI as a "
            text += "string"
            self._bad_type("idReference", spot, label, text, source["@id"])
        else:
            text = f"'@type' is missing; it must be one of {render_types(spot.rule.classes)}"
            self._bad_type("badType", spot, label, text, ...)
        return None

    def _bad_type(self, rule: str, spot: Spot, label: str, text: str, value: object) -> None:
        self.findings.add(
            rule,
            text,
            spot.document_path,
            element=label if rule == "multipleMaterialTypes" or not spot.parent else spot.parent.id,
            prop=spot.rule.name,
            value=value,
        )

    # --- @id ------------------------------------------------------------------------------------

    def _parse_id(
        self, source: Mapping[str, object], spot: Spot, context: Context, cls: str
    ) -> tuple[str | None, bool]:
        document_path = spot.document_path.at("@id")
        if "@id" not in source:
            return self._generate_id(source, spot)
        value = source["@id"]
        if not isinstance(value, str) or context.rules.id_pattern.fullmatch(value) is None:
            self.findings.add(
                "invalidId",
                f"'@id' is {render_value(value)}; in DTDL version {context.rules.version} it must "
                f"be {context.rules.id_text}",
                document_path,
                value=value,
            )
            return None, False
        if value.startswith(context.reserved) and not self._is_tolerant(context):
            self.findings.add(
                "reservedId",
                f"'@id' is '{value}'; reserved are {', '.join(context.reserved)}",
                document_path,
                value=value,
            )
            return None, False
        bound = context.rules.classes[cls].max_id_length
        if len(value) > bound:
            rule = "idTooLong" if len(value) > context.rules.id_length else "idTooLongForType"
            self.findings.add(
                rule,
                f"'@id' is {len(value)} characters long; for {cls} at most {bound} are allowed",
                document_path,
                element=value if len(value) < 200 else "",
                value=value,
            )
        return value, False

    def _generate_id(self, source: Mapping[str, object], spot: Spot) -> tuple[str | None, bool]:
        if spot.parent is None:
            self.findings.add(
                "missingTopLevelId",
                "'@id' is missing; an Interface needs a DTMI",
                spot.document_path,
            )
            return None, False
        if spot.rule.id_required:
            self.findings.add(
                "missingRequiredId",
                "a value has no '@id'; here every value needs a DTMI of its own",
                spot.document_path,
                element=spot.parent.id,
                prop=spot.rule.name,
            )
            return None, False
        name = _discriminator(source, spot.rule)
        return dtmi.build_child(spot.parent.id, spot.rule.name, name), True

    # --- properties -----------------------------------------------------------------------------

    def _parse_properties(self, source: Mapping[str, object], element: Element, depth: int) -> None:
        context = element.context
        rules = context.rules.classes[element.cls].properties
        seen: set[str] = set()
        for key, value in source.items():
            if key.startswith("@"):
                continue
            name = context.properties.get(key, "")
            rule = rules.get(name) or _adjunct_rule(element, name)
            if rule is None:
                self._undefined_property(key, element, rules)
            elif name in seen:
                self.findings.add(
                    "duplicatePropertyName",
                    "is given twice, as a term and as a DTMI",
                    element.document_path.at(key),
                    element=element.id,
                    prop=name,
                )
            else:
                seen.add(name)
                self._parse_property(value, element, rule, element.document_path.at(key), depth)
        self._check_missing(element, rules, seen)

    def _parse_property(
        self,
        value: object,
        element: Element,
        rule: PropertyRule,
        document_path: DocumentPath,
        depth: int,
    ) -> None:
        if rule.kind is Kind.ANY:
            element.others = {**element.others, rule.name: value}
            return
        if rule.kind is not Kind.ELEMENT:
            subject = Subject(element.id, rule, document_path, element.context)
            literal: Literal | None
            if rule.kind is Kind.LANG_STRING:
                literal = parse_lang_string(value, subject, self.findings)
            else:
                literal = self.literals.parse_literal(value, subject)
            if literal is not None:
                element.literals = {**element.literals, rule.name: literal}
            return
        found = self._parse_values(value, element, rule, document_path, depth)
        element.values = {**element.values, rule.name: pack_values(found)}

    def _check_missing(
        self, element: Element, rules: Mapping[str, PropertyRule], seen: set[str]
    ) -> None:
        wanted = [rule for rule in rules.values() if rule.required and rule.name not in seen]
        for adjunct in element.adjuncts:
            wanted += [r for r in adjunct.properties.values() if r.required and r.name not in seen]
        for rule in wanted:
            kind = "Object" if rule.kind is Kind.ELEMENT else "Literal"
            if rule.name == "name" and element.generated_id and element.rule.by_name:
                self._miss_name(element)
                continue
            self.findings.add(
                f"missing{'' if rule.name in rules else 'Supplemental'}{kind}Property",
                f"is missing; a {element.cls} needs it",
                element.document_path,
                element=element.id,
                prop=rule.name,
            )

    def _miss_name(self, element: Element) -> None:
        self.findings.add(
            "missingDtmiSegPropertyValue",
            f"has a {element.cls} without 'name', which it needs",
            element.document_path,
            element=element.parent.id if element.parent else "",
            prop=element.rule.name,
        )

    def _undefined_property(
        self, key: str, element: Element, rules: Mapping[str, PropertyRule]
    ) -> None:
        wrong = judge_undefined_property(
            key, element.context, undefined_type=element.undefined_types
        )
        if wrong is None:
            return
        rule, text = wrong
        if not element.undefined_types:
            rule = "inferredTypeDoesNotAllow" if element.inferred else "noTypeThatAllows"
        self.findings.add(
            rule,
            f"{text}; a {element.cls} has {', '.join(sorted(rules))}."
            + self.findings.suggest(key, rules),
            element.document_path.at(key),
            element=element.id,
            prop=key,
        )

    # --- values that are elements ---------------------------------------------------------------

    def _parse_values(
        self,
        value: object,
        element: Element,
        rule: PropertyRule,
        document_path: DocumentPath,
        depth: int,
    ) -> list[Value]:
        items = value if isinstance(value, list) else [value]
        found: list[Value] = []
        for position, item in enumerate(items):
            at = document_path.at(position) if isinstance(value, list) else document_path
            parsed = self._parse_value(item, element, rule, at, depth)
            if parsed is not None:
                found.append(parsed)
        self._check_count(len(items), element, rule, document_path)
        return found

    def _check_count(
        self, count: int, element: Element, rule: PropertyRule, document_path: DocumentPath
    ) -> None:
        least = max(rule.min_count, 1 if rule.required else 0)
        if count < least:
            broken, text = "objectCountBelowMin", f"has no value; it needs at least {least}"
        elif not rule.plural and count > 1:
            broken, text = "objectMultipleValues", f"has {count} values; it takes one"
        elif rule.max_count is not None and count > rule.max_count:
            broken = "objectCountAboveMax"
            text = f"has {count} values; at most {rule.max_count} are allowed"
        else:
            return
        self.findings.add(
            broken, text, document_path, element=element.id, prop=rule.name, value=count
        )

    def _parse_value(
        self,
        item: object,
        element: Element,
        rule: PropertyRule,
        document_path: DocumentPath,
        depth: int,
    ) -> Value | None:
        if isinstance(item, str):
            return self._parse_reference(item, element, rule, document_path)
        if isinstance(item, dict) and (rule.classes or not rule.terms):
            return self._parse_inline(item, element, rule, document_path, depth)
        self.findings.add(
            "refObjectNotAllowed" if isinstance(item, dict) else "refNotStringOrObject",
            f"has the value {render_value(item)}; it must be {_render_choice(rule)}",
            document_path,
            element=element.id,
            prop=rule.name,
            value=item,
        )
        return None

    def _parse_inline(
        self,
        item: dict[str, object],
        element: Element,
        rule: PropertyRule,
        document_path: DocumentPath,
        depth: int,
    ) -> Value | None:
        if item.keys() == {"@id"} and rule.classes and element.tolerant:
            return self._parse_id_reference(item["@id"], element, rule, document_path)
        child = self._parse_object(
            item, Spot(element, rule, element.context, document_path, depth + 1)
        )
        if child is None:
            return None
        if child.cls == "Interface" and not self.limits.allow_inline_interfaces:
            self.findings.add(
                "inlineInterface",
                f"defines the Interface {child.id} in place; "
                "give it as a document of its own and write its DTMI here",
                document_path,
                element=element.id,
                prop=rule.name,
                value=child.id,
            )
        return child.id

    def _parse_id_reference(
        self, identifier: object, element: Element, rule: PropertyRule, document_path: DocumentPath
    ) -> Value | None:
        if isinstance(identifier, str) and element.context.rules.id_pattern.fullmatch(identifier):
            return self._parse_reference(identifier, element, rule, document_path)
        self.findings.add(
            "idRefBadDtmiOrTerm",
            f"has an object with '@id' {render_value(identifier)}; it must be a DTMI",
            document_path,
            element=element.id,
            prop=rule.name,
            value=identifier,
        )
        return None

    def _parse_reference(
        self, text: str, element: Element, rule: PropertyRule, document_path: DocumentPath
    ) -> Value | None:
        context = element.context
        if (name := rule.terms.get(text)) is not None:
            return predefined(name)
        if rule.terms and rule.classes and (name := context.schemas.get(text)) is not None:
            return predefined(name)
        known = text in context.known
        formed = len(text) <= dtmi.MAX_LENGTH and context.rules.id_pattern.fullmatch(text)
        if rule.classes and not known and formed:
            self.graph.references.append(Reference(element, rule, text, document_path))
            return text
        wrong = "badType" if known else "badDtmiOrTerm"
        if known and rule.value_type and not context.rules.strict_keywords:
            # SPEC: units of DTDL v2 are elements of a class, later ones are values of an Enum.
            wrong = "notRequiredType"
        self.findings.add(
            wrong,
            f"has the value {render_value(text)}; it must be {_render_choice(rule)}."
            f"{self.findings.suggest(text, rule.terms, terms_only=True)}",
            document_path,
            element=element.id,
            prop=rule.name,
            value=text,
        )
        return None


def _label(source: Mapping[str, object], spot: Spot) -> str:
    """Return the name in findings of an element whose `@id` is not checked yet."""
    claimed = source.get("@id")
    if isinstance(claimed, str):
        return claimed
    if spot.parent is None:
        return ""
    return dtmi.build_child(spot.parent.id, spot.rule.name, _discriminator(source, spot.rule))


def _discriminator(source: Mapping[str, object], rule: PropertyRule) -> str | None:
    name = source.get("name")
    return name if rule.by_name and isinstance(name, str) else None


def _adjunct_rule(element: Element, name: str) -> PropertyRule | None:
    for adjunct in element.adjuncts:
        if (rule := adjunct.properties.get(name)) is not None:
            return rule
    return None


def _render_choice(rule: PropertyRule) -> str:
    terms = sorted({f"'{term}'" for term in rule.terms if not term.startswith("dtmi:")})
    choices = [", ".join([*terms[:24], *(["..."] if len(terms) > 24 else [])])] if terms else []
    if len(terms) > 1:
        choices = [f"one of {choices[0]}"]
    if rule.classes:
        *others, last = sorted(rule.classes)
        classes = f"{', '.join(others)} or {last}" if others else last
        choices.append(f"the DTMI of an element of type {classes}, or such an element itself")
    return ", or ".join(choices)
