"""Checks the rules across elements: references, uniqueness, inheritance, depth, counts.

It runs on a completely parsed graph; `twinframe.dtdl.elements` checks single elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from twinframe.dtdl.adjuncts import check_adjuncts, check_families, check_siblings
from twinframe.dtdl.build import Builder
from twinframe.dtdl.chains import Depths, measure_depths, sum_below
from twinframe.dtdl.findings import Findings, render_value
from twinframe.dtdl.graph import Element, ElementGraph, Predefined, Reference
from twinframe.dtdl.limits import ParserLimits
from twinframe.dtdl.metamodel import ChainRule, PropertyRule
from twinframe.dtdl.rules import RESERVED
from twinframe.dtdl.rules.core import CONTENTS, COUNTED, GEOSPATIAL


@dataclass(slots=True)
class Structure:
    """Checks one graph; `contents` are the effective contents of each interface by name."""

    graph: ElementGraph
    findings: Findings
    limits: ParserLimits
    contents: dict[str, dict[str, Element]] = field(default_factory=dict)

    def check(self) -> None:
        """Report every rule between elements that the uploaded documents break."""
        self._check_references()
        fresh = [element for element in self.graph.elements.values() if not element.resolved]
        for element in fresh:
            self._check_version(element)
            self._check_unique(element)
            if element.cls == "Enum":
                self._check_enum_values(element)
            if element.cls == "Command" and not self.limits.allow_commands:
                self._add("disallowedCommand", "commands are not accepted here", element)
        extends = self._check_chains(fresh, lambda e: e.context.rules.extends_chain, {"Interface"})
        schema_roots = {"Array", "Map", "Object", "Field", "MapValue"}
        self._check_chains(fresh, lambda e: e.context.rules.schema_chain, schema_roots)
        self._collect_contents(extends)
        families: dict[str, Element] = {}
        builder = Builder(self.graph)
        for element in fresh:
            if element.cls == "Interface" and element.id not in extends.cyclic:
                self._check_hierarchy(element)
            elif element.cls == "Component":
                self._check_component(element)
            elif element.cls == "Property" and element.context.rules.array_free_properties:
                self._check_array_free(element)
            if element.adjuncts:
                check_adjuncts(element, builder, self.findings)
                for member in (element, element.parent):
                    if member is not None and not member.resolved:
                        families[member.id] = member
        self._check_totals([element for element in fresh if element.cls == "Interface"])
        for parent in families.values():
            check_families(parent, self.graph, self.findings)

    # --- references -----------------------------------------------------------------------------

    def _check_references(self) -> None:
        missing: dict[str, list[Reference]] = {}
        for reference in self.graph.references:
            if reference.owner.resolved:
                continue
            target = self.graph.elements.get(reference.target)
            if target is None:
                missing.setdefault(reference.target, []).append(reference)
            else:
                self._check_reference(reference, target)
        interfaces = [e.id for e in self.graph.elements.values() if e.cls == "Interface"]
        for target_id, references in missing.items():
            first = references[0]
            count = len(references)
            self.findings.add(
                "undefinedReservedId" if target_id.startswith(RESERVED) else "unresolvedReference",
                f"failed to resolve requisite references to {target_id} "
                f"(referenced in {count} place{'' if count == 1 else 's'}); upload it first or in "
                f"the same request.{self.findings.suggest(target_id, interfaces)}",
                first.document_path,
                element=first.owner.id,
                prop=first.rule.name,
                value=target_id,
            )

    def _check_reference(self, reference: Reference, target: Element) -> None:
        rule, text = "", ""
        owner = reference.owner
        if target.cls not in reference.rule.classes:
            rule = "badType"
            text = (
                f"refers to {target.id}, which is a {target.cls}; allowed here: "
                f"{', '.join(sorted(reference.rule.classes))}"
            )
        elif target.cls != "Interface" and target.partition != owner.partition:
            rule = "crossPartitionReference"
            text = (
                f"refers to {target.id}, which is defined inside {target.partition}; "
                "only whole interfaces can be referred to from another interface"
            )
        elif target.context.rules.version > owner.context.rules.version:
            rule = "disallowedVersionReference"
            text = (
                f"refers to {target.id}, which is DTDL version {target.context.rules.version}; "
                f"an element of version {owner.context.rules.version} must not"
            )
        if rule:
            self.findings.add(
                rule,
                text,
                reference.document_path,
                element=owner.id,
                prop=reference.rule.name,
                value=reference.target,
            )

    def _check_version(self, element: Element) -> None:
        parent = element.parent
        if parent is None:
            return
        own, outer = element.context.rules.version, parent.context.rules.version
        if own > outer or (own != outer and element.rule.same_version):
            self.findings.add(
                "disallowedVersionDefinition",
                f"defines {element.id} in DTDL version {own} inside version {outer}; "
                f"it must {'be the same' if element.rule.same_version else 'not be later'}",
                element.document_path,
                element=parent.id,
                prop=element.rule.name,
                value=element.id,
            )

    # --- uniqueness and enum values -------------------------------------------------------------

    def _check_unique(self, element: Element) -> None:
        for rule in element.context.rules.classes[element.cls].properties.values():
            if not rule.unique or len(element.values.get(rule.name, ())) < 2:
                continue
            children = list(self.graph.children(element, rule.name))
            for name in rule.unique:
                self._check_unique_literal(element, rule, name, children)

    def _check_unique_literal(
        self, element: Element, rule: PropertyRule, name: str, children: list[Element]
    ) -> None:
        seen: dict[tuple[type, object], Element] = {}
        for child in children:
            value = child.literals.get(name)
            if value is None or isinstance(value, dict):
                continue
            if child.tolerant and child.cls in CONTENTS and rule.name == "contents":
                continue
            first = seen.setdefault((type(value), value), child)
            if first is not child:
                self.findings.add(
                    "nonUniquePropertyValue",
                    f"more than one value has '{name}' {render_value(value)}; first at "
                    f"{first.document_path.pointer}; each must differ",
                    child.document_path,
                    element=element.id,
                    prop=rule.name,
                    value=value,
                )

    def _check_enum_values(self, element: Element) -> None:
        schema = element.one("valueSchema")
        if not isinstance(schema, Predefined):
            return
        wanted = str if schema.name == "string" else int
        for child in self.graph.children(element, "enumValues"):
            value = child.literals.get("enumValue")
            if value is not None and not isinstance(value, wanted):
                self.findings.add(
                    "nonConformantDatatype",
                    f"has the value {render_value(value)}; the enum's 'valueSchema' is "
                    f"'{schema.name}'",
                    child.document_path.at("enumValue"),
                    element=child.id,
                    prop="enumValue",
                    value=value,
                )

    # --- chains ---------------------------------------------------------------------------------

    def _check_chains(
        self, fresh: list[Element], chain_of: Callable[[Element], ChainRule], roots: set[str]
    ) -> Depths:
        def steps(element: Element) -> Iterable[Element]:
            for name in chain_of(element).steps:
                for child in self.graph.children(element, name):
                    if child.cls != "Interface" or name == "extends":
                        yield child

        def weight(element: Element) -> int:
            return int(element.cls in chain_of(element).counts)

        starts = [e for e in self.graph.elements.values() if e.cls in roots]
        depths = measure_depths(starts, steps, weight, key=lambda e: e.id)
        for element in fresh:
            if element.cls not in roots:
                continue
            chain = chain_of(element)
            length = depths.depth.get(element.id, 0)
            if element.id in depths.cyclic and not (
                element.context.rules.schema_cycles and chain.form == "Wide"
            ):
                text = f"its chain of {chain.text} leads back to itself"
                self._add(f"recursiveStructure{chain.form}", text, element)
            elif length > chain.max_length:
                text = f"its chain of {chain.text} is {length} elements long; "
                text += f"at most {chain.max_length} are allowed"
                self._add(f"excessiveDepth{chain.form}", text, element)
        return depths

    # --- interfaces -----------------------------------------------------------------------------

    def _collect_contents(self, extends: Depths) -> None:
        for identifier in extends.order:
            element = self.graph.elements[identifier]
            if element.cls != "Interface":
                # NOTE: a document that is not checked may extend anything.
                continue
            effective: dict[str, Element] = {}
            if identifier not in extends.cyclic:
                for base in self.graph.children(element, "extends"):
                    for name, content in self.contents.get(base.id, {}).items():
                        effective.setdefault(name, content)
            for content in self.graph.children(element, "contents"):
                if content.cls in CONTENTS:
                    effective.setdefault(content.name, content)
            self.contents[identifier] = effective

    def _check_hierarchy(self, element: Element) -> None:
        check_siblings(element, self.contents.get(element.id, {}), self.findings)
        bases = list(self.graph.children(element, "extends"))
        if bases:
            self._check_inherited_names(element, bases)
        rules = element.context.rules
        if rules.hierarchy_extends_max is not None and bases:
            ancestors = self._count_ancestors(element, rules.hierarchy_extends_max)
            if ancestors > rules.hierarchy_extends_max:
                self._add(
                    "excessiveCount",
                    f"extends more than {rules.hierarchy_extends_max} interfaces in its hierarchy",
                    element,
                    "extends",
                )

    def _check_totals(self, interfaces: list[Element]) -> None:
        """SPEC: DTDL v3 and v4 "Interface": the most elements an Interface may lead to."""

        def steps(element: Element) -> Iterable[Element]:
            for name in COUNTED:
                if name in element.values:
                    yield from (
                        c for c in self.graph.children(element, name) if c.cls != "Interface"
                    )

        def weight(element: Element) -> int:
            values = (value for name in COUNTED for value in element.values.get(name, ()))
            return sum(isinstance(value, Predefined) for value in values)

        contents = [e for e in self.graph.elements.values() if e.cls in CONTENTS]
        below = sum_below(contents, steps, weight, key=lambda e: e.id)
        own = {
            identifier: sum(1 + below[content.id] for content in effective.values())
            for identifier, effective in self.contents.items()
        }
        totals = {
            element.id: own[element.id] + self._count_components(element, own)
            for element in interfaces
        }
        for element in interfaces:
            bound = element.context.rules.hierarchy_elements_max
            if bound is not None and totals[element.id] > bound:
                self._add(
                    "excessiveCount",
                    f"leads to {totals[element.id]} contents, fields, enum values and schemas, "
                    f"inherited ones included; at most {bound} are allowed",
                    element,
                    "contents",
                )

    def _count_components(self, element: Element, own: dict[str, int]) -> int:
        targets = (
            content.one("schema")
            for content in self.contents[element.id].values()
            if content.cls == "Component"
        )
        return sum(1 + own.get(target, 0) for target in targets if isinstance(target, str))

    def _count_ancestors(self, element: Element, bound: int) -> int:
        seen: set[str] = set()
        waiting = [element]
        while waiting and len(seen) <= bound:
            for base in self.graph.children(waiting.pop(), "extends"):
                if base.id not in seen:
                    seen.add(base.id)
                    waiting.append(base)
        return len(seen)

    def _check_inherited_names(self, element: Element, bases: list[Element]) -> None:
        seen: dict[str, Element] = {c.name: c for c in self.graph.children(element, "contents")}
        for base in bases:
            for name, content in self.contents.get(base.id, {}).items():
                first = seen.setdefault(name, content)
                if first is not content:
                    self.findings.add(
                        "nonUniqueImportedPropertyValue",
                        f"the name '{name}' is declared by {first.partition} and by "
                        f"{content.partition}; contents and inherited contents must have "
                        "different names",
                        element.document_path
                        if first.partition != element.id
                        else first.document_path,
                        element=element.id,
                        prop="contents",
                        value=name,
                    )

    def _check_component(self, element: Element) -> None:
        target = element.one("schema")
        if not isinstance(target, str):
            return
        for content in self.contents.get(target, {}).values():
            if content.cls == "Component":
                self.findings.add(
                    "excludedType",
                    f"its interface {target} has the component '{content.name}' itself; "
                    "a component must not contain components",
                    element.document_path.at("schema"),
                    element=element.id,
                    prop="schema",
                    value=target,
                )
                return

    def _check_array_free(self, element: Element) -> None:
        if self._reaches_array(element):
            self.findings.add(
                "excludedType",
                "its schema contains an array; in DTDL version 2 the schema of a Property must not",
                element.document_path.at("schema"),
                element=element.id,
                prop="schema",
            )

    def _reaches_array(self, start: Element) -> bool:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            element = waiting.pop()
            if element.cls == "Array":
                return True
            if element.id in seen:
                continue
            seen.add(element.id)
            for name in element.context.rules.schema_chain.steps:
                for value in element.values.get(name, ()):
                    if isinstance(value, Predefined) and value.name in GEOSPATIAL:
                        return True
                waiting += self.graph.children(element, name)
        return False

    def _add(self, rule: str, text: str, element: Element, prop: str = "") -> None:
        self.findings.add(rule, text, element.document_path, element=element.id, prop=prop)


def list_missing(graph: ElementGraph) -> frozenset[str]:
    """Return the DTMIs of interfaces that are referred to but not yet parsed."""
    return frozenset(
        reference.target
        for reference in graph.references
        if "Interface" in reference.rule.classes and reference.target not in graph.elements
    )
