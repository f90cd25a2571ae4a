"""Parses `@type` of an element: its one class, its adjunct types, and unknown types.

`twinframe.dtdl.adjuncts` checks the constraints of adjunct types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from twinframe.dtdl import dtmi
from twinframe.dtdl.context import Context
from twinframe.dtdl.findings import DocumentPath, Findings, render_value
from twinframe.dtdl.metamodel import AdjunctRule
from twinframe.dtdl.rules.core import ABSTRACT_ADJUNCTS

_TERM = re.compile(r"[^:]*")


@dataclass(slots=True)
class Types:
    """The contents of `@type`: distinct class names in order, adjunct types, unknown types."""

    classes: list[str] = field(default_factory=list)
    adjuncts: list[AdjunctRule] = field(default_factory=list)
    undefined: bool = False
    broken: bool = False


def parse_types(
    value: object, context: Context, findings: Findings, document_path: DocumentPath, element: str
) -> Types:
    """Return the contents of `@type`; `broken` is set where a finding was made."""
    types = Types()
    tokens = value if isinstance(value, list) else [value]
    for position, token in enumerate(tokens):
        at = document_path.at(position) if isinstance(value, list) else document_path
        if not isinstance(token, str):
            types.broken = True
            findings.add(
                "typeNotString",
                f"'@type' has the value {render_value(token)}; it must be a string or an array "
                "of strings",
                at,
                element=element,
                value=token,
            )
            continue
        found = context.types.get(token)
        if isinstance(found, str):
            if found not in types.classes:
                types.classes.append(found)
        elif found is not None:
            if found not in types.adjuncts:
                types.adjuncts.append(found)
        elif (wrong := judge_undefined_type(token, context)) is not None:
            types.broken = True
            rule, text = wrong
            near = findings.suggest(token, context.types, terms_only=True)
            findings.add(
                rule,
                f"'@type' has '{token}', which {text}.{near}",
                at,
                element=element,
                value=token,
            )
        else:
            types.undefined = True
    return types


def judge_undefined_type(token: str, context: Context) -> tuple[str, str] | None:
    """Return rule and text where an unknown type is wrong, or None where it may be unknown."""
    if token.startswith("dtmi:"):
        if not dtmi.is_dtmi(token):
            return "typeInvalidDtmi", "is not a well-formed DTMI"
        allowed = context.incomplete
        return None if allowed else ("typeIrrelevantDtmiOrTerm", "is no type of this context")
    if token in ABSTRACT_ADJUNCTS:
        return "abstractSupplementalType", "is abstract; name one of its kinds"
    if token in context.known:
        allowed = context.incomplete
        return None if allowed else ("typeIrrelevantDtmiOrTerm", "is a name but no type")
    if _TERM.fullmatch(token) is None:
        tolerated = context.rules.undefined_types_tolerated
        return None if tolerated else ("typeNotDtmiNorTerm", "is neither a DTMI nor a term")
    allowed = context.rules.undefined_types_tolerated or context.incomplete
    return None if allowed else ("typeUndefinedTerm", "is not known here")


def judge_undefined_property(
    key: str, context: Context, *, undefined_type: bool
) -> tuple[str, str] | None:
    """Return rule and text where an unknown property is wrong, or None where it may be unknown."""
    if undefined_type and context.rules.undefined_types_tolerated:
        return None
    if key.startswith("dtmi:") and not dtmi.is_dtmi(key):
        return "propertyInvalidDtmi", "is not a well-formed DTMI"
    if not key.startswith("dtmi:") and _TERM.fullmatch(key) is None:
        return "propertyNotDtmiNorTerm", "is neither a DTMI nor a term"
    if undefined_type and context.incomplete:
        return None
    if key.startswith("dtmi:") or key in context.known:
        return "propertyIrrelevantDtmiOrTerm", "is no property of this element"
    return "propertyUndefinedTerm", "is not known here"


def render_types(names: Iterable[str]) -> str:
    """Return class names for a message."""
    return ", ".join(sorted(names)) or "none, only a predefined value"
