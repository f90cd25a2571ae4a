"""Parses the core contexts in a `@context`: the language version and the limits.

`twinframe.dtdl.context` parses the contexts of extensions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from twinframe.dtdl import dtmi
from twinframe.dtdl.findings import DocumentPath, Findings, render_list, render_value
from twinframe.dtdl.limits import ParserLimits
from twinframe.dtdl.metamodel import LanguageRules
from twinframe.dtdl.rules import EXTENSIONS, LANGUAGES, LIMITED

_LANGUAGE = re.compile(r"dtmi:dtdl:context;([1-9][0-9]{0,8})(?:#(.*))?", re.DOTALL)
_LANGUAGE_PREFIX = "dtmi:dtdl:context;"
_LIMITS_PREFIX = "dtmi:dtdl:limits:"
_LIMITLESS = "limitless"
_OWN_LIMITS = "limits"


def is_core_context(specifier: str) -> bool:
    """Return whether a context is one of the language itself: a version, or limits of one."""
    return specifier.startswith(_LIMITS_PREFIX) or _LANGUAGE.fullmatch(specifier) is not None


@dataclass(slots=True)
class LanguageReader:
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
        """Report a context that begins as a version of the language and is none, such as
        `...;3.1`.
        """
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
