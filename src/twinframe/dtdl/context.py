"""Parses `@context`: the language version, the extensions, and the names they define.

`twinframe.dtdl.elements` decides which of the names an element may use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from twinframe.dtdl import dtmi
from twinframe.dtdl.findings import DocumentPath, Findings, render_list, render_value
from twinframe.dtdl.limits import ParserLimits
from twinframe.dtdl.metamodel import AdjunctRule, LanguageRules, Vocabulary
from twinframe.dtdl.rules import EXTENSIONS, LANGUAGES, LIMITED, OWN_PREFIXES

_LANGUAGE = re.compile(r"dtmi:dtdl:context;([1-9][0-9]{0,8})(?:#(.*))?", re.DOTALL)
_LANGUAGE_PREFIX = "dtmi:dtdl:context;"
_LIMITS_PREFIX = "dtmi:dtdl:limits:"
_LIMITLESS = "limitless"
_OWN_LIMITS = "limits"


def _is_core_context(specifier: str) -> bool:
    """Return whether a context is one of the language itself: a version, or limits of one."""
    return specifier.startswith(_LIMITS_PREFIX) or _LANGUAGE.fullmatch(specifier) is not None


@dataclass(slots=True)
class _LanguageReader:
    """Parses the core contexts of one `@context`; `rules` are those in force so far.

    `chosen`: this `@context` named a version itself, where `rules` may come from an outer one.
    `broken` is set where a finding was made, `unsupported` where it is that of an unsupported
    version. SPEC: DTDL v4 "Context": `#limitless` is followed by limits at once.
    """

    findings: Findings
    limits: ParserLimits
    rules: LanguageRules | None
    chosen: bool = False
    leading: list[str] = field(default_factory=list)
    limitless: tuple[str, DocumentPath] | None = None
    broken: bool = False
    unsupported: bool = False

    def read(
        self, specifiers: Sequence[tuple[str, DocumentPath]], document_path: DocumentPath
    ) -> None:
        """Parse all values of a `@context`, each with its place; the last version wins."""
        for specifier, at in specifiers:
            match = _LANGUAGE.fullmatch(specifier)
            if match is not None:
                self._read_language(int(match[1]), match[2], specifier, at)
            elif specifier.startswith(_LANGUAGE_PREFIX):
                self._read_misspelt(specifier, at)
            elif specifier.startswith(_LIMITS_PREFIX) and self.rules is not None:
                self._read_limits(specifier, at)
            else:
                self._read_other(specifier)
            if self.broken:
                return
        if self.limitless is not None:
            self._miss_limits()
        elif self.rules is None:
            self._break(
                "missingDtdlContext",
                "'@context' has no DTDL context; "
                "its first value must be one, such as 'dtmi:dtdl:context;3'",
                document_path,
                [specifier for specifier, _ in specifiers],
            )

    def _read_language(
        self, version: int, fragment: str | None, specifier: str, document_path: DocumentPath
    ) -> None:
        found = self._find_language(version, specifier, document_path)
        if found is None:
            return
        leads = all(name in EXTENSIONS and EXTENSIONS[name].leads for name in self.leading)
        if self.leading and not (found.affiliates_first and leads and not self.chosen):
            self._break(
                "dtdlContextFollowsAffiliate" if self.rules else "missingDtdlContext",
                f"'@context' has '{specifier}' after '{self.leading[-1]}'; "
                "the DTDL context must come first",
                document_path,
                specifier,
            )
        elif fragment is not None and fragment not in (_LIMITLESS, _OWN_LIMITS):
            text = f"'@context' has '{specifier}'; after '#' only 'limitless' and 'limits' may "
            self._break("invalidContextFragment", f"{text}stand", document_path, specifier)
        elif fragment is not None and not found.limit_contexts:
            text = (
                f"'@context' has '{specifier}'; only from DTDL version 4 on may '#limitless' and "
            )
            self._break(
                "disallowedContextFragment", f"{text}'#limits' stand", document_path, specifier
            )
        elif fragment == _OWN_LIMITS and self.limitless is None:
            self._misplace(specifier, version, document_path)
        elif self.limitless is not None and (fragment == _LIMITLESS or self.rules is not found):
            self._miss_limits()
        else:
            self.rules, self.chosen = found, True
            self.limitless = (specifier, document_path) if fragment == _LIMITLESS else None

    def _find_language(
        self, version: int, specifier: str, document_path: DocumentPath
    ) -> LanguageRules | None:
        rules = LANGUAGES.get(version)
        if rules is not None and version <= self.limits.max_language_version:
            return rules
        supported = [v for v in sorted(LANGUAGES) if v <= self.limits.max_language_version]
        self.unsupported = True
        self.rules = None
        self._break(
            "unrecognizedContextVersion" if rules is None else "disallowedContextVersion",
            f"'@context' asks for DTDL version {version}; supported are {render_list(supported)}",
            document_path,
            specifier,
        )
        return None

    def _read_limits(self, specifier: str, document_path: DocumentPath) -> None:
        if self.limitless is None:
            version = self.rules.version if self.rules else max(LANGUAGES)
            self._misplace(specifier, version, document_path)
            return
        rules = LIMITED.get(specifier)
        family = specifier.partition(";")[0]
        if rules is None:
            same = any(known.partition(";")[0] == family for known in LIMITED)
            self._break(
                "unresolvableContextVersion" if same else "unresolvableContextSpecifier",
                f"'@context' value '{specifier}' is not known here."
                + self.findings.suggest(specifier, LIMITED),
                document_path,
                specifier,
            )
        elif not self.limits.accept_all_limits and not (
            self.limits.acceptable_limits & {specifier, family}
        ):
            accepted = ", ".join(sorted(self.limits.acceptable_limits)) or "none"
            self._break(
                "disallowedLimitContext",
                f"'@context' asks for the limits '{specifier}'; beside the language's own, "
                f"accepted here: {accepted}",
                document_path,
                specifier,
            )
        else:
            self.rules, self.limitless = rules, None

    def _read_misspelt(self, specifier: str, document_path: DocumentPath) -> None:
        """Report a context that begins as a version of the language and is none (`...;3.1`)."""
        text = f"'@context' has {render_value(specifier)}; supported are the DTDL versions "
        versions = [v for v in sorted(LANGUAGES) if v <= self.limits.max_language_version]
        well_formed = dtmi.is_dtmi(specifier)
        self.unsupported = self.unsupported or well_formed
        self._break(
            "unrecognizedContextVersion" if well_formed else "invalidContextSpecifier",
            f"{text}{render_list(versions)}, such as '{_LANGUAGE_PREFIX}{versions[-1]}'",
            document_path,
            specifier,
        )

    def _read_other(self, specifier: str) -> None:
        if self.limitless is not None:
            self._miss_limits()
        self.leading.append(specifier)

    def _misplace(self, specifier: str, version: int, document_path: DocumentPath) -> None:
        text = f"'@context' has the limits '{specifier}' where they may not stand; limits follow "
        text += f"'dtmi:dtdl:context;{version}#limitless' directly"
        self._break("misplacedLimitContext", text, document_path, specifier)

    def _miss_limits(self) -> None:
        if self.limitless is not None:
            specifier, document_path = self.limitless
            text = f"'@context' has '{specifier}', which limits must follow directly, such as "
            text += f"'{specifier.partition('#')[0]}#limits'"
            self._break("missingLimitContext", text, document_path, specifier)

    def _break(self, rule: str, text: str, document_path: DocumentPath, value: object) -> None:
        self.broken = True
        self.findings.add(rule, text, document_path, value=value)


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
        language = _LanguageReader(self.findings, self.limits, parent.rules if parent else None)
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
            if _is_core_context(specifier):
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
