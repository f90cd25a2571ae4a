"""The modelling language alone: models parsed, twins checked, each against a floor."""

from __future__ import annotations

import gzip
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from math import isfinite
from pathlib import Path

import orjson

from benchmarks.report import Figure, Report, measure_pair
from tests.shared import ROOT
from twinframe.dtdl import SERVICE, compile_validator, parse_models

_CONTEXT = "dtmi:dtdl:context;4"
_SCHEMAS = ("double", "integer", "string", "boolean", "dateTime")
_VALUES: dict[str, object] = {
    "double": 21.5,
    "integer": 7,
    "string": "north wing",
    "boolean": True,
    "dateTime": "2024-02-29T12:00:00Z",
}


def measure(report: Report, *, quick: bool) -> None:
    """Microseconds a twin, seconds an upload, and how the latter grows."""
    _measure_twin(report, 200 if quick else 2000)
    _measure_ontology(report, 1 if quick else 5)
    _measure_growth(report, 1 if quick else 3)


# --- one twin -----------------------------------------------------------------------------------


def build_wide_model(properties: int) -> dict[str, object]:
    """Return an interface with so many properties, of five schemas in turn."""
    contents = [
        {"@type": "Property", "name": f"p{n}", "schema": _SCHEMAS[n % len(_SCHEMAS)]}
        for n in range(properties)
    ]
    return {
        "@context": _CONTEXT,
        "@id": "dtmi:com:example:bench:Wide;1",
        "@type": "Interface",
        "contents": contents,
    }


def _measure_twin(report: Report, rounds: int) -> None:
    models = parse_models([build_wide_model(20)])
    interface = models.interfaces["dtmi:com:example:bench:Wide;1"]
    validator = compile_validator(interface, models.interfaces.__getitem__)
    twin: dict[str, object] = {"$dtId": "t", "$metadata": {"$model": interface.id}}
    twin |= {f"p{n}": _VALUES[_SCHEMAS[n % len(_SCHEMAS)]] for n in range(20)}
    batch = range(100)

    def ours() -> None:
        for _ in batch:
            assert validator.validate_twin(twin) == []

    def floor() -> None:
        for _ in batch:
            assert _check_by_hand(twin)

    seconds, least = measure_pair(ours, floor, max(5, rounds // 100))
    micros, floor_micros = seconds * 1e6 / len(batch), least * 1e6 / len(batch)
    report.add(
        Figure(
            "DTDL: check a twin of 20 properties (floor: the same checks by hand)",
            micros,
            "µs",
            floor_micros,
            micros / floor_micros,
            "tens of µs",
            kept=micros < 100,
        )
    )


def _check_by_hand(twin: dict[str, object]) -> bool:
    """The same questions, written out for this one interface; dates are only looked at."""
    for name, value in twin.items():
        if name[0] == "$":
            continue
        match int(name[1:]) % 5:
            case 0:
                right = type(value) is float and isfinite(value)
            case 1:
                right = type(value) is int and -(2**31) <= value < 2**31
            case 3:
                right = type(value) is bool
            case _:
                right = type(value) is str
        if not right:
            return False
    return True


# --- uploads ------------------------------------------------------------------------------------


def _measure_ontology(report: Report, rounds: int) -> None:
    named = os.environ.get("TWINFRAME_REC_MODELS")
    file = Path(named) if named else ROOT.parent / "shared/data/rec-building-models.jsonl.gz"
    if not file.exists():
        print("TWINFRAME_REC_MODELS is not set: the ontology's figure is left out")
        return
    with gzip.open(file) as lines:
        text = b"[" + b",".join(line.strip() for line in lines) + b"]"
    seconds, least = measure_pair(lambda: _parse(text), lambda: orjson.loads(text), rounds)
    report.add(
        Figure(
            "DTDL: parse RealEstateCore, 767 interfaces (floor: the JSON alone)",
            seconds,
            "s",
            least,
            seconds / least,
            "<= 2 s",
            kept=seconds <= 2,
        )
    )


def _parse(text: bytes) -> None:
    documents = orjson.loads(text)
    assert len(parse_models(documents, limits=SERVICE).uploaded) == len(documents)


def build_models(count: int) -> list[dict[str, object]]:
    """Return so many interfaces that extend and contain each other, five contents each."""
    models: list[dict[str, object]] = []
    for n in range(count):
        contents: list[dict[str, object]] = [
            {"@type": "Property", "name": f"p{n}_{m}", "schema": _SCHEMAS[m]} for m in range(3)
        ]
        following = f"dtmi:com:example:bench:M{(n + 1) % count};1"
        contents.append({"@type": "Relationship", "name": f"r{n}", "target": following})
        contents.append({"@type": "Property", "name": f"o{n}", "schema": _build_object(n)})
        model: dict[str, object] = {
            "@context": _CONTEXT,
            "@id": f"dtmi:com:example:bench:M{n};1",
            "@type": "Interface",
            "contents": contents,
        }
        if n % 8:
            model["extends"] = f"dtmi:com:example:bench:M{n - 1};1"
        models.append(model)
    return models


def _build_object(number: int) -> dict[str, object]:
    fields = [{"name": f"f{number}_{m}", "schema": "double"} for m in range(3)]
    return {"@type": "Object", "fields": fields}


def _measure_growth(report: Report, rounds: int) -> None:
    """Seconds for 500 to 5,000 interfaces; a set is named linear within a factor of two."""
    first = 0.0
    for count in (500, 1000, 2000, 5000):
        documents = build_models(count)
        seconds = _take_median(partial(parse_models, documents), rounds)
        first = first or seconds / count
        ratio = seconds / count / first
        report.add(
            Figure(
                f"DTDL: parse {count:,} interfaces (ratio: to the first, each)",
                seconds,
                "s",
                first * count,
                ratio,
                "linear",
                kept=ratio < 2,
            )
        )


def _take_median(call: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        # NOTE: time of this process, as a growth is told from machine noise by nothing else.
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return statistics.median(times)
