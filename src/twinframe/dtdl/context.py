"""Parses `@context`: the language version, the extensions, and the names they define.

`twinframe.dtdl.elements` decides which of the names an element may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twinframe.dtdl import dtmi
from twinframe.dtdl.findings import DocumentPath, Findings, render_value
from twinframe.dtdl.languages import LanguageReader, is_core_context
from twinframe.dtdl.limits import ParserLimits
from twinframe.dtdl.metamodel import AdjunctRule, LanguageRules, Vocabulary
from twinframe.dtdl.rules import EXTENSIONS, OWN_PREFIXES


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The names in force for an element.

    `incomplete` is true if an unknown context is in force, so that an unknown name may come from
    it. `reserved` are prefixes of DTMIs that models must not define. `types`, `properties` and
    `schemas` map every spelling, term or DTMI, to its meaning.
    """

    rules: LanguageRules
    vocabularies: tuple[Vocabulary, ...] = ()
    incomplete: bool = False
    types: Mapping[str, str | AdjunctRule] = field(init=False)
    properties: Mapping[str, str] = field(init=False)
    schemas: Mapping[str, str] = field(init=False)
    known: frozenset[str] = field(init=False)
    reserved: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        types: dict[str, str | AdjunctRule] = {}
        properties: dict[str, str] = {}
        schemas: dict[str, str] = {}
        known: set[str] = set()
        for vocabulary in (self.rules.core, *self.vocabularies):
            known.update(vocabulary.terms, vocabulary.names)
            schemas |= vocabulary.schemas
            for name, adjunct in vocabulary.adjuncts.items():
                types[name] = types[vocabulary.terms[name]] = adjunct
                for prop in adjunct.properties:
                    properties[prop] = properties[vocabulary.terms[prop]] = prop
        for name, cls in self.rules.abstract_classes.items():
            types[name] = types[self.rules.core.terms[name]] = cls
        for name, rule in self.rules.classes.items():
            types[name] = types[self.rules.core.terms[name]] = name
            for prop in rule.properties:
                properties[prop] = properties[self.rules.core.terms[prop]] = prop
        for name, value in (
            ("types", types),
            ("properties", properties),
            ("schemas", schemas),
            ("known", frozenset(known)),
            (
                "reserved",
                OWN_PREFIXES
                + tuple(v.reserved_prefix for v in self.vocabularies if v.reserved_prefix),
            ),
        ):
            object.__setattr__(self, name, value)


@dataclass(slots=True)
class ContextReader:
    """Reads `@context` values, each distinct one once."""

    findings: Findings
    limits: ParserLimits
    cache: dict[tuple[Context | None, tuple[str, ...]], Context] = field(default_factory=dict)
    unsupported: bool = False

    def parse_context(
        self, value: object, parent: Context | None, document_path: DocumentPath
    ) -> Context | None:
        """Return the context in force under `value`; `parent` is None at the top of a document.

        None is returned where nothing below can be checked; a finding says why.
        """
        specifiers = self._parse_specifiers(value, document_path)
        if specifiers is None:
            return parent
        if parent is None and not specifiers:
            self.findings.add(
                "emptyContext",
                "'@context' is empty; its first value must be a DTDL context "
                "such as 'dtmi:dtdl:context;3'",
                document_path,
            )
            return None
        key = (parent, tuple(specifiers))
        if (cached := self.cache.get(key)) is not None:
            return cached
        before = len(self.findings.items) + self.findings.dropped
        context = self._build(specifiers, parent, document_path, plain=isinstance(value, str))
        if context is not None and len(self.findings.items) + self.findings.dropped == before:
            self.cache[key] = context
        return context

    def _parse_specifiers(self, value: object, document_path: DocumentPath) -> list[str] | None:
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list):
            self.findings.add(
                "invalidContext",
                f"'@context' is {render_value(value)}; it must be a string or an array of strings",
                document_path,
                value=value,
            )
            return None
        specifiers: list[str] = []
        for position, item in enumerate(value):
            if isinstance(item, str):
                specifiers.append(item)
            elif isinstance(item, dict):
                self.findings.add(
                    "disallowedLocalContext",
                    "'@context' defines terms of its own; only context identifiers are allowed",
                    document_path.at(position),
                    value=item,
                )
            else:
                self.findings.add(
                    "invalidContext",
                    f"'@context' has the value {render_value(item)}; every value must be a string",
                    document_path.at(position),
                    value=item,
                )
        return specifiers

    def _build(
        self,
        specifiers: list[str],
        parent: Context | None,
        document_path: DocumentPath,
        *,
        plain: bool,
    ) -> Context | None:
        language = LanguageReader(self.findings, self.limits, parent.rules if parent else None)
        document_paths = [
            document_path if plain else document_path.at(n) for n in range(len(specifiers))
        ]
        language.read(list(zip(specifiers, document_paths, strict=True)), document_path)
        self.unsupported = self.unsupported or language.unsupported
        rules = language.rules
        if rules is None or language.broken:
            return Context(rules) if rules else None
        vocabularies = list(parent.vocabularies) if parent else []
        incomplete = parent.incomplete if parent else False
        for specifier, at in zip(specifiers, document_paths, strict=True):
            if is_core_context(specifier):
                continue
            vocabulary = self._affiliate(specifier, rules, at)
            if vocabulary is None:
                incomplete = incomplete or self.limits.allow_undefined_extensions
            else:
                # SPEC: of one extension the version named last is in force.
                family = dtmi.parse_versionless(vocabulary.context)
                vocabularies = [
                    v for v in vocabularies if dtmi.parse_versionless(v.context) != family
                ]
                vocabularies.append(vocabulary)
        return Context(rules, tuple(vocabularies), incomplete)

    def _affiliate(
        self, specifier: str, rules: LanguageRules, document_path: DocumentPath
    ) -> Vocabulary | None:
        if (vocabulary := EXTENSIONS.get(specifier)) is not None:
            return vocabulary
        rule, text = "", ""
        if not specifier.startswith("dtmi:"):
            rule, text = "nonDtmiContextSpecifier", "is not a DTMI"
        elif not dtmi.is_dtmi(specifier) or "#" in specifier:
            rule, text = "invalidContextSpecifier", "is not a well-formed context DTMI"
        elif not dtmi.parse_version(specifier):
            rule, text = "missingContextVersion", "has no version"
        elif rules.id_pattern.fullmatch(specifier) is None or len(specifier) > dtmi.MAX_LENGTH:
            rule = "invalidContextSpecifierForVersion"
            text = f"does not fit DTDL version {rules.version}, which wants {rules.id_text}"
        elif not self.limits.allow_undefined_extensions:
            family = dtmi.parse_versionless(specifier)
            known = any(dtmi.parse_versionless(context) == family for context in EXTENSIONS)
            rule = "unresolvableContextVersion" if known else "unresolvableContextSpecifier"
            text = "is not known here"
        if rule:
            near = self.findings.suggest(specifier, EXTENSIONS)
            self.findings.add(
                rule,
                f"'@context' value '{specifier}' {text}.{near}",
                document_path,
                value=specifier,
            )
        return None
