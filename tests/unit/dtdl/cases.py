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

from twinframe.dtdl import (
    SPECIFICATION,
    ArraySchema,
    ModelFinding,
    ModelSet,
    PrimitiveSchema,
    Property,
    Schema,
    Telemetry,
    compile_test,
    is_dtmi,
    list_mismatches,
    parse_models,
    parse_value,
)
from twinframe.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
KNOWN_FAILURES = Path(__file__).with_name("known_failures.txt")
VERSIONS = (2, 3, 4)
_LANGUAGE = re.compile(r'"dtmi:dtdl:context;([0-9]+)')
_STANDARD = re.compile(r"dtmi:standard:schema:(\w+);\d")
_PRIMITIVE = re.compile(r"dtmi:dtdl:instance:Schema:(\w+);\d")

Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one case: `agrees` on validity, and whether the same error was named.

    `named` is None where the case names no error. `instances` are disagreements on values.
    """

    case: str
    version: int
    agrees: bool
    named: bool | None = None
    findings: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """Counts over many verdicts."""

    agreed: Counter[int] = field(default_factory=Counter)
    total: Counter[int] = field(default_factory=Counter)
    named: Counter[int] = field(default_factory=Counter)
    nameable: Counter[int] = field(default_factory=Counter)
    failures: list[Verdict] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        """Count one verdict."""
        passed = verdict.agrees and not verdict.instances
        self.total[verdict.version] += 1
        self.agreed[verdict.version] += passed
        if verdict.named is not None:
            self.nameable[verdict.version] += 1
            self.named[verdict.version] += verdict.named
        if not passed:
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
    """Run one case."""
    version = find_version(case)
    if "idText" in case:
        return Verdict(case["case"], 0, is_dtmi(case["idText"]) is case["valid"])
    limits = replace(
        SPECIFICATION,
        allow_undefined_extensions="AllowUndefinedExtensions" in case["options"],
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
    if not case["case"].startswith(("generated/", "solecisms/")):
        return []
    errors: list[Mapping[str, Any]] = (case.get("expect") or {}).get("parsingErrors", [])
    return errors


def _names_error(case: Case, findings: Sequence[ModelFinding]) -> bool | None:
    """Tell whether a finding names the rule and the element of an error that the case expects.

    Where the case names no element (an identifier or a context is wrong), the rule decides.
    """
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
    if (primitive := _PRIMITIVE.fullmatch(subject)) is not None:
        return PrimitiveSchema(primitive[1])
    if (standard := _STANDARD.fullmatch(subject)) is not None:
        return _find_predefined(standard[1], models)
    for interface in models.interfaces.values():
        if (schema := interface.schemas.get(subject)) is not None:
            return schema
        for content in interface.contents.values():
            if content.id == subject and isinstance(content, (Property, Telemetry)):
                return content.schema
    return None


def _find_predefined(name: str, models: ModelSet) -> Schema | None:
    """Return a predefined schema that some array of the models has for its items."""
    for interface in models.interfaces.values():
        for schema in interface.schemas.values():
            if isinstance(schema, ArraySchema) and getattr(schema.element, "id", "").endswith(
                f":{name};4"
            ):
                return schema.element
    return None


def main() -> int:
    """Print shares per version and every failure that is not known; 1 where there is one."""
    path = find_cases()
    if path is None:
        print("no cases: set TWINFRAME_DTDL_CASES to cases.jsonl.gz")
        return 0
    tally = Tally()
    skipped = 0
    for case in read_cases(path):
        if find_version(case) in (0, *VERSIONS):
            tally.add(decide(case))
        else:
            skipped += 1
    for version in (0, *VERSIONS):
        total, agreed = tally.total[version], tally.agreed[version]
        label = f"DTDL v{version}" if version else "DTMIs"
        named = f"{tally.named[version]}/{tally.nameable[version]} errors named by rule and element"
        print(f"{label}: {agreed}/{total} right on valid ({agreed / total:.3%}), {named}")
    known = read_known_failures()
    for verdict in tally.failures:
        mark = "known" if verdict.case in known else "FAILED"
        print(f"{mark} {verdict.case}: {' | '.join((verdict.instances or verdict.findings)[:2])}")
    passed = sum(tally.agreed.values())
    print(f"{passed} passed, {len(tally.failures)} failed, {skipped} skipped")
    return int(any(verdict.case not in known for verdict in tally.failures))


if __name__ == "__main__":
    sys.exit(main())
