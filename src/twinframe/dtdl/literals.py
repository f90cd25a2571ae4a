"""Parses literal property values of models: strings, booleans, integers and DTMIs.

`twinframe.dtdl.metamodel` defines the kind of each property.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from twinframe.dtdl import dtmi
from twinframe.dtdl.context import Context
from twinframe.dtdl.findings import DocumentPath, Findings, render_value
from twinframe.dtdl.metamodel import Kind, PropertyRule
from twinframe.dtdl.scalars import is_duration

_XSD = "http://www.w3.org/2001/XMLSchema#"

Literal: TypeAlias = str | bool | int | float | dict[str, str]


@dataclass(slots=True, eq=False)
class Subject:
    """The property of a literal, for findings: its element's DTMI, rule and place."""

    element: str
    rule: PropertyRule
    document_path: DocumentPath
    context: Context


@dataclass(frozen=True, slots=True)
class Form:
    """One literal type: its name in findings, its XSD name, and the Python test."""

    word: str
    xsd: str
    accepts: Callable[[object], bool]


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_STRING = Form("string", "string", lambda value: isinstance(value, str))
_BOOLEAN = Form("boolean", "boolean", lambda value: isinstance(value, bool))
_INTEGER = Form("integer", "integer", _is_integer)
_NUMERIC = Form("numeric", "decimal", _is_number)
_DURATION = Form("duration", "duration", lambda value: isinstance(value, str))
FORMS: Mapping[Kind, tuple[Form, ...]] = {
    Kind.STRING: (_STRING,),
    Kind.BOOLEAN: (_BOOLEAN,),
    Kind.INTEGER: (_INTEGER,),
    Kind.LITERAL: (_STRING, _INTEGER),
    Kind.IDENTIFIER: (_STRING,),
    Kind.NUMERIC: (_NUMERIC,),
    Kind.DURATION: (_DURATION,),
}
_FORMS = (_STRING, _BOOLEAN, _INTEGER, _NUMERIC, _DURATION)


@dataclass(frozen=True, slots=True)
class LiteralReader:
    """Parses literal values and reports errors in them."""

    findings: Findings

    def parse_literal(self, value: object, subject: Subject) -> Literal | None:
        """Return the value of a literal property, or None where it is absent or wrong."""
        forms = FORMS[subject.rule.kind]
        if isinstance(value, list):
            if not value:
                self._report_absent(subject)
                return None
            if len(value) > 1:
                self._add(
                    subject,
                    f"{forms[0].word}MultipleValues",
                    f"has {len(value)} values; it takes one",
                    value,
                )
                return None
            value = value[0]
        if isinstance(value, dict) and subject.rule.kind is not Kind.IDENTIFIER:
            value = self._parse_value_object(value, forms, subject)
            if value is None:
                return None
        if not any(form.accepts(value) for form in forms):
            self._add(
                subject,
                f"{forms[0].word}Not{forms[0].word.capitalize()}",
                f"has the value {render_value(value)}; "
                f"it must be {' or '.join(f'a {f.word}' for f in forms)}",
                value,
            )
            return None
        return self._check(value, subject)

    def _report_absent(self, subject: Subject) -> None:
        if subject.rule.required:
            word = FORMS[subject.rule.kind][0].word
            self._add(subject, f"{word}CountBelowMin", "has no value; it needs one", [])

    def _parse_value_object(
        self, value: dict[str, object], forms: tuple[Form, ...], subject: Subject
    ) -> object | None:
        if not self._check_value_keys(value, subject):
            return None
        if "@value" not in value:
            self._add(
                subject, f"{forms[0].word}ObjectNoValue", "is an object without '@value'", value
            )
            return None
        inner = value["@value"]
        if "@type" in value:
            declared = value["@type"]
            if isinstance(declared, list):
                if len(declared) != 1:
                    text = f"has {len(declared)} values for '@type'; it takes one"
                    self._add(subject, "literalTypeNotSingular", text, declared)
                    return None
                declared = declared[0]
            named = [f for f in _FORMS if declared in (f"xsd:{f.xsd}", _XSD + f.xsd)]
            matching = [f for f in named if f in forms]
            if named and not matching and subject.rule.kind is Kind.LITERAL:
                self._report_other_literal(inner, named[0], forms, subject)
                return None
            if not matching:
                self._add(
                    subject,
                    f"{forms[0].word}TypeNot{forms[0].word.capitalize()}",
                    f"has '@type' {render_value(declared)}; it must be 'xsd:{forms[0].xsd}'",
                    declared,
                )
                return None
            forms = tuple(matching)
        if not any(form.accepts(inner) for form in forms):
            self._add(
                subject,
                f"{forms[0].word}ValueNot{forms[0].word.capitalize()}",
                f"has '@value' {render_value(inner)}; it must be a {forms[0].word}",
                inner,
            )
            return None
        return inner

    def _report_other_literal(
        self, inner: object, declared: Form, forms: tuple[Form, ...], subject: Subject
    ) -> None:
        """Report a literal whose '@type' is valid in the language but not for this property."""
        if not declared.accepts(inner):
            rule = f"{declared.word}ValueNot{declared.word.capitalize()}"
            text = f"has '@value' {render_value(inner)}, which is no {declared.word}; "
        else:
            rule, text = "literalNotValid", f"has '@type' 'xsd:{declared.xsd}'; "
        choice = " or ".join(f"'xsd:{form.xsd}'" for form in forms)
        self._add(subject, rule, f"{text}its '@type' must be {choice}", inner)

    def _check_value_keys(self, value: dict[str, object], subject: Subject) -> bool:
        strict = subject.context.rules.strict_keywords
        for key in value:
            if key in ("@value", "@type") or (key == "@language" and not strict):
                continue
            if key.startswith("@") and not strict and key not in ("@id", "@context", "@graph"):
                continue
            special = {
                "@id": "Id",
                "@context": "Context",
                "@graph": "Graph",
                "@language": "Language",
            }
            word = special.get(key, "Keyword" if key.startswith("@") else "InvalidProp")
            self._add(
                subject,
                f"valueObject{word}",
                f"is an object with '{key}'; only '@value' and '@type' are allowed",
                key,
            )
            return False
        return True

    def _check(self, value: object, subject: Subject) -> Literal | None:
        rule = subject.rule
        if isinstance(value, str):
            if rule.kind is Kind.IDENTIFIER:
                return self._check_identifier(value, subject)
            if rule.kind is Kind.DURATION and not is_duration(value):
                text = f"has the value {render_value(value)}; it must be an ISO 8601 duration such "
                self._add(subject, "durationInvalid", f"{text}as 'PT15S'", value)
                return None
            if rule.max_length is not None and len(value) > rule.max_length:
                self._add(
                    subject,
                    "stringTooLong",
                    f"is {len(value)} characters long; at most {rule.max_length} are allowed",
                    value,
                )
                return None
            if rule.pattern is not None and rule.pattern.fullmatch(value) is None:
                self._add(
                    subject,
                    "stringInvalid",
                    f"has the value {render_value(value)}; it must be {rule.pattern_text}",
                    value,
                )
                return None
            return value
        if isinstance(value, (bool, int, float)):
            return self._check_number(value, subject)
        return None

    def _check_number(self, value: bool | float, subject: Subject) -> Literal | None:
        rule = subject.rule
        wrong = text = ""
        if rule.exact is not None and value != rule.exact:
            wrong, text = "valueNotExact", f"it must be {rule.exact}"
        elif rule.minimum is not None and value < rule.minimum:
            wrong, text = "valueBelowRange", f"it must be at least {rule.minimum}"
        elif rule.maximum is not None and value > rule.maximum:
            wrong, text = "valueAboveRange", f"it must be at most {rule.maximum}"
        if wrong:
            self._add(subject, wrong, f"has the value {render_value(value)}; {text}", value)
            return None
        return value

    def _check_identifier(self, value: str, subject: Subject) -> str | None:
        rules = subject.context.rules
        if len(value) > dtmi.MAX_LENGTH:
            text = f"is {len(value)} characters long; at most {dtmi.MAX_LENGTH} are allowed"
            self._add(subject, "identifierTooLong", text, value)
            return None
        if rules.id_pattern.fullmatch(value) is None:
            self._add(
                subject,
                "identifierNotDtmi",
                f"has the value {render_value(value)}; it must be a DTMI of DTDL version "
                f"{rules.version}: {rules.id_text}",
                value,
            )
            return None
        return value

    def _add(self, subject: Subject, rule: str, text: str, value: object) -> None:
        report(self.findings, subject, rule, text, value)


def report(findings: Findings, subject: Subject, rule: str, text: str, value: object) -> None:
    """Record that the literal of `subject` breaks `rule`."""
    findings.add(
        rule,
        text,
        subject.document_path,
        element=subject.element,
        prop=subject.rule.name,
        value=value,
    )
