"""The rules of the language as tables: one `LanguageRules` a version, one `Vocabulary` a known
context.
"""

from __future__ import annotations

from dataclasses import replace

from twinframe.dtdl.metamodel import LanguageRules, Vocabulary
from twinframe.dtdl.rules.core import LIMITS, V2, V3, V4, build_language
from twinframe.dtdl.rules.extensions import EXTENSIONS, STANDARD_V2


def _with_standard(rules: LanguageRules, standard: Vocabulary) -> LanguageRules:
    core = rules.core
    return replace(
        rules,
        core=replace(
            core,
            adjuncts=standard.adjuncts,
            schemas=standard.schemas,
            enums=standard.enums,
            enum_ids=standard.enum_ids,
            terms=core.terms | dict(standard.terms),  # type: ignore[operator]  # both are dicts
            names=core.names | dict(standard.names),  # type: ignore[operator]  # both are dicts
        ),
        abstract_classes={**rules.abstract_classes, **dict.fromkeys(standard.enums, "Unit")},
    )


LANGUAGES: dict[int, LanguageRules] = {
    2: _with_standard(build_language(V2, strict=False), STANDARD_V2),
    3: build_language(V3, strict=True),
    4: build_language(V4, strict=True, schema_cycles=True),
}
"""Rules by language version."""

LIMITED: dict[str, LanguageRules] = {
    context: build_language(figures, strict=True, schema_cycles=True)
    for context, figures in LIMITS.items()
}
"""Rules by limit context."""

OWN_PREFIXES = ("dtmi:dtdl:", "dtmi:standard:")
"""The prefix of DTMIs of the language itself; models must not define such DTMIs."""
RESERVED = (*OWN_PREFIXES, *(v.reserved_prefix for v in EXTENSIONS.values() if v.reserved_prefix))
"""The prefixes of DTMIs of the language and of all known contexts."""

__all__ = ["EXTENSIONS", "LANGUAGES", "LIMITED", "OWN_PREFIXES", "RESERVED"]
