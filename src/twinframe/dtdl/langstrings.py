"""Parses localizable strings of models: one text, or texts by language code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from twinframe.dtdl.findings import Findings, render_value
from twinframe.dtdl.literals import Subject, report

LANGUAGE_CODE = re.compile(r"[a-z]{2,4}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|[0-9]{3}))?")
DEFAULT_LANGUAGE = "en"
_SPECIAL = {"@id": "Id", "@context": "Context", "@graph": "Graph"}


def parse_lang_string(value: object, subject: Subject, findings: Findings) -> dict[str, str]:
    """Return the texts by language code; a text without a code is English.

    SPEC: DTDL "Display string localization". Invalid parts are reported and left out.
    """
    texts: dict[str, str] = {}
    if isinstance(value, list):
        for item in value:
            for language, text in _parse_array_item(item, subject, findings):
                _add_text(language, text, texts, "langStringElement", subject, findings)
    elif isinstance(value, str):
        texts[DEFAULT_LANGUAGE] = value
    elif isinstance(value, dict):
        for language, text in _parse_map(value, subject, findings):
            _add_text(language, text, texts, "langString", subject, findings)
    else:
        wrong = f"has the value {render_value(value)}; it must be a string, an array, or an object "
        wrong += "from language codes to strings"
        report(findings, subject, "langStringNotLangString", wrong, value)
    _check_lengths(texts, subject, findings)
    return texts


def _add_text(
    language: str,
    text: object,
    texts: dict[str, str],
    rule: str,
    subject: Subject,
    findings: Findings,
) -> None:
    if not isinstance(text, str):
        wrong = f"has the value {render_value(text)}; it must be a string"
        report(findings, subject, f"{rule}ValueNotString", wrong, text)
    elif LANGUAGE_CODE.fullmatch(language) is None:
        wrong = f"has the language code {render_value(language)}; it must be one such as 'en', "
        wrong += "'en-US' or 'zh-Hant'"
        report(findings, subject, f"{rule}InvalidCode", wrong, language)
    elif language in texts:
        wrong = f"has more than one value for language '{language}'"
        report(findings, subject, f"{rule}CodeNotUnique", wrong, language)
    else:
        texts[language] = text


def _check_lengths(texts: Mapping[str, str], subject: Subject, findings: Findings) -> None:
    bound = subject.rule.max_length
    for language, text in texts.items():
        if bound is not None and len(text) > bound:
            wrong = f"is {len(text)} characters long in language '{language}'; at most {bound} "
            wrong += "are allowed"
            report(findings, subject, "langStringValueTooLong", wrong, text)


def _parse_map(
    item: dict[str, object], subject: Subject, findings: Findings
) -> Iterator[tuple[str, object]]:
    for key in item:
        if key.startswith("@"):
            wrong = f"has the key '{key}'; it must be a language code"
            report(findings, subject, "langMapObjKeyword", wrong, key)
            return
    yield from item.items()


def _parse_array_item(
    item: object, subject: Subject, findings: Findings
) -> Iterator[tuple[str, object]]:
    if isinstance(item, str):
        yield DEFAULT_LANGUAGE, item
        return
    if not isinstance(item, dict):
        wrong = f"has the value {render_value(item)}; it must be a string or an object with "
        wrong += "'@value'"
        report(findings, subject, "langStringElementNotStringOrObject", wrong, item)
        return
    strict = subject.context.rules.strict_keywords
    for key in item:
        if key in ("@value", "@language"):
            continue
        if key.startswith("@") and not strict and key not in _SPECIAL:
            continue
        word = _SPECIAL.get(key, "Keyword" if key.startswith("@") else "InvalidProp")
        wrong = f"has an object with '{key}'; only '@value' and '@language' are allowed"
        report(findings, subject, f"langStringElement{word}", wrong, key)
        return
    if "@value" not in item:
        wrong = "has an object without '@value'"
        report(findings, subject, "langStringElementNoValue", wrong, item)
        return
    language = item.get("@language", DEFAULT_LANGUAGE)
    yield language if isinstance(language, str) else "", item["@value"]
