"""Runs the reference cases of the DTDL parser project against `twinframe.dtdl`.

`python -m tests.unit.dtdl.cases` prints shares and failures; the cases themselves are not ours
and are read from where `TWINFRAME_DTDL_CASES` says.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.unit.dtdl.case_elements import list_parts, list_wrong_elements
from twinframe.dtdl import (
    SPECIFICATION,
    ModelFinding,
    ModelSet,
    Property,
    Schema,
    Telemetry,
    compile_test,
    is_dtmi,
    list_mismatches,
    parse_models,
    parse_value,
    parse_version,
    parse_versionless,
)
from twinframe.dtdl.build import PREDEFINED
from twinframe.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
KNOWN_FAILURES = Path(__file__).with_name("known_failures.txt")
_UNRESOLVED = ("unresolvedReference", "undefinedReservedId")
_LANGUAGE = re.compile(r'"dtmi:dtdl:context;([0-9]+)')
_PREDEFINED_ID = re.compile(
    r"dtmi:(?:dtdl:instance:Schema|standard:schema(?::geospatial)?):(\w+);\d"
)

Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one case: `agrees` on validity, and whether the same error was named.

    `named` is None where the case names no error. `instances` are disagreements on values,
    `elements` on the object model (of a DTMI: its parts), None where the case expects none.
    """

    case: str
    version: int
    agrees: bool
    named: bool | None = None
    findings: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    elements: tuple[str, ...] | None = None

    @property
    def passed(self) -> bool:
        """Whether the case is decided as it states in all that it states."""
        return self.agrees and self.named is not False and not (self.instances or self.elements)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What was found wrong with the models, or with the verdict on them."""
        return self.instances or self.elements or self.findings


@dataclass(slots=True)
class Tally:
    """Counts over many verdicts."""

    agreed: Counter[int] = field(default_factory=Counter)
    total: Counter[int] = field(default_factory=Counter)
    named: Counter[int] = field(default_factory=Counter)
    nameable: Counter[int] = field(default_factory=Counter)
    failures: list[Verdict] = field(default_factory=list)
    passed: set[str] = field(default_factory=set)
    built: Counter[int] = field(default_factory=Counter)
    misbuilt: Counter[int] = field(default_factory=Counter)

    def add(self, verdict: Verdict) -> None:
        """Count one verdict."""
        self.total[verdict.version] += 1
        self.agreed[verdict.version] += verdict.agrees and not verdict.instances
        if verdict.named is not None:
            self.nameable[verdict.version] += 1
            self.named[verdict.version] += verdict.named
        if verdict.elements is not None:
            self.built[verdict.version] += 1
            self.misbuilt[verdict.version] += bool(verdict.elements)
        if verdict.passed:
            self.passed.add(verdict.case)
        else:
            self.failures.append(verdict)


def find_cases() -> Path | None:
    """Return the file of cases, or None where there is none."""
    named = os.environ.get("TWINFRAME_DTDL_CASES")
    if named:
        return Path(named)
    beside = ROOT.parent / "shared" / "conformance" / "dtdl" / "cases.jsonl.gz"
    return beside if beside.exists() else None


def read_cases(path: Path) -> Iterator[Case]:
    """Yield every case of the file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def find_version(case: Case) -> int:
    """Return the latest language version a case asks for; 0 for the cases on DTMIs alone."""
    if "idText" in case:
        return 0
    texts = json.dumps([case["input"], case.get("resolution")])
    versions = [int(text) for text in _LANGUAGE.findall(texts)]
    suffix = re.search(r"V([234])(?:#\d+)?$", case["case"])
    if suffix and not case["case"].startswith("doc-examples/"):
        return int(suffix[1])
    return max([version for version in versions if version <= 4], default=2)


def read_known_failures() -> dict[str, str]:
    """Return the reason of every case that is known to fail."""
    reasons: dict[str, str] = {}
    for line in KNOWN_FAILURES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition("  ")
            reasons[name] = reason.strip()
    return reasons


def decide(case: Case) -> Verdict:
    """Run one case; where the parser fails otherwise than with findings, it is decided wrongly."""
    try:
        return _decide(case)
    except Exception as error:  # noqa: BLE001  # one such case must not end the run of all others
        text = f"{type(error).__name__}: {error}"
        return Verdict(case["case"], find_version(case), agrees=False, findings=(text,))


def _decide(case: Case) -> Verdict:
    version = find_version(case)
    if "idText" in case:
        wrong = tuple(_list_wrong_parts(case)) if case["valid"] else None
        return Verdict(case["case"], 0, is_dtmi(case["idText"]) is case["valid"], elements=wrong)
    limits = replace(
        SPECIFICATION,
        allow_undefined_extensions="AllowUndefinedExtensions" in case.get("options", ()),
        max_language_version=case.get("maxDtdlVersion", SPECIFICATION.max_language_version),
        acceptable_limits=frozenset(case.get("acceptableLimits") or ()),
        tolerate_solecisms="TolerateSolecismsInParse" in (case.get("quirks") or ()),
        tolerate_resolved_solecisms="TolerateSolecismsInResolve" in (case.get("quirks") or ()),
        trust_resolved=False,
    )
    try:
        models = parse_models(case["input"], resolve=_build_resolver(case), limits=limits)
    except InputError as error:
        findings = [d for d in error.details if isinstance(d, ModelFinding)]
        return Verdict(
            case["case"],
            version,
            agrees=not case["valid"],
            named=_names_error(case, findings),
            findings=tuple(f"{f.code}: {f.message}" for f in findings),
        )
    return Verdict(
        case["case"],
        version,
        agrees=bool(case["valid"]),
        named=False if _expected_errors(case) else None,
        instances=tuple(_list_wrong_instances(case, models)),
        elements=tuple(list_wrong_elements(case, models)) if _expects_elements(case) else None,
    )


def _build_resolver(case: Case) -> Any:
    rounds: Sequence[Mapping[str, Any]] = case.get("resolution") or ()
    if not rounds:
        return None

    def resolve(ids: frozenset[str]) -> Iterable[object]:
        for exchange in rounds:
            if ids & set(exchange["request"]):
                return exchange["response"] or ()
        return ()

    return resolve


def _expected_errors(case: Case) -> list[Mapping[str, Any]]:
    errors: list[Mapping[str, Any]] = (case.get("expect") or {}).get("parsingErrors", [])
    return errors


def _expects_elements(case: Case) -> bool:
    return bool(case["valid"] and (case.get("expect") or {}).get("elements"))


def _list_wrong_parts(case: Case) -> Iterator[str]:
    text, expected = case["idText"], case.get("expect") or {}
    major, _, minor = parse_version(text).partition(".")
    path, _, fragment = parse_versionless(text).partition("#")
    ours = {
        "MajorVersion": int(major or 0),
        "MinorVersion": int(minor or 0),
        "Versionless": parse_versionless(text),
        "Labels": path.split(":")[1:],
        "Fragment": f"#{fragment}" if fragment else "",
    }
    for name, value in ours.items():
        if name in expected and value != expected[name]:
            yield f"{name} of {text} is {value!r}, not {expected[name]!r}"


def _names_error(case: Case, findings: Sequence[ModelFinding]) -> bool | None:
    """Tell whether a finding names the rule and the element of an error that the case expects.

    Where the case names no element (an identifier or a context is wrong), the rule decides.
    """
    missing = (case.get("expect") or {}).get("unresolvedIdentifiers")
    if missing and not case["valid"]:
        named_ids = {finding.value for finding in findings if finding.code in _UNRESOLVED}
        return all(json.dumps(identifier) in named_ids for identifier in missing)
    expected = _expected_errors(case)
    if not expected:
        return None
    wanted: set[tuple[str, str | None]] = {
        (error["ValidationID"].rpartition(":")[2], error.get("PrimaryID")) for error in expected
    }
    named: set[tuple[str, str | None]] = {(finding.code, finding.element) for finding in findings}
    return bool(wanted & (named | {(rule, None) for rule, _ in named}))


def _list_wrong_instances(case: Case, models: ModelSet) -> Iterator[str]:
    for instance in case.get("instances", ()):
        schema = _find_schema(instance["subject"], models)
        if schema is None:
            if not instance.get("throws"):
                yield f"no schema for {instance['subject']}"
            continue
        conforms = _conforms(schema, instance["submit"])
        if conforms is not instance.get("conforms", False):
            yield f"{instance['submit']} for {instance['subject']}: {conforms}"


def _conforms(schema: Schema, text: str) -> bool:
    try:
        value = parse_value(text)
    except ValueError:
        return False
    conforms = compile_test(schema)(value)
    assert conforms is (not list(list_mismatches(schema, value))), "test and explanation differ"
    return conforms


def _find_schema(subject: str, models: ModelSet) -> Schema | None:
    """Return the schema that instances of `subject` are of: a predefined one or a models' own."""
    if (predefined := _PREDEFINED_ID.fullmatch(subject)) is not None:
        return PREDEFINED.get(predefined[1])
    for interface in models.interfaces.values():
        waiting: list[Schema] = list(interface.schemas.values())
        for content in interface.contents.values():
            if isinstance(content, (Property, Telemetry)):
                if content.id == subject:
                    return content.schema
                waiting.append(content.schema)
        while waiting:
            schema = waiting.pop()
            if getattr(schema, "id", None) == subject:
                return schema
            waiting += list_parts(schema)
    return None


def main() -> int:
    """Print shares per version and every failure; 1 where the list of known ones is not right."""
    path = find_cases()
    if path is None:
        print("no cases: set TWINFRAME_DTDL_CASES to cases.jsonl.gz")
        print("0 passed, 0 failed, 0 skipped")
        return 0
    tally = Tally()
    for case in read_cases(path):
        tally.add(decide(case))
    _print_shares(tally)
    known = read_known_failures()
    for verdict in tally.failures:
        mark = "known" if verdict.case in known else "FAILED"
        print(f"{mark} {verdict.case}: {' | '.join(verdict.reasons[:2])}")
    failed = {verdict.case for verdict in tally.failures}
    unexpected = sorted(tally.passed & known.keys())
    for name in unexpected:
        print(f"FAILED {name}: passes, take it off the list of known failures")
    count = len(failed) + len(unexpected)
    print(f"{len(tally.passed) - len(unexpected)} passed, {count} failed, 0 skipped")
    return int(bool(unexpected or failed - known.keys()))


def _print_shares(tally: Tally) -> None:
    for version in sorted(tally.total):
        total, agreed = tally.total[version], tally.agreed[version]
        text = f"{'DTMIs' if version == 0 else f'DTDL v{version}'}: "
        text += f"{agreed}/{total} right on valid and instances ({agreed / total:.2%})"
        if nameable := tally.nameable[version]:
            named = tally.named[version]
            text += (
                f"; {named}/{nameable} errors named by rule and element ({named / nameable:.2%})"
            )
        if built := tally.built[version]:
            right = built - tally.misbuilt[version]
            text += f"; {right}/{built} {'parts' if version == 0 else 'object models'} as expected"
        print(text)


if __name__ == "__main__":
    sys.exit(main())
