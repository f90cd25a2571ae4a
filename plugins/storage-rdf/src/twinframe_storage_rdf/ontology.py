"""Rules that map model ids to IRIs of public ontologies, one to one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

_SEGMENT: Final = "[A-Za-z0-9_]+"
_MODEL: Final = re.compile(
    r"dtmi:(?:[A-Za-z0-9_]+:)*(?:[A-Za-z0-9_]+|\*)(?:;[1-9][0-9]{0,8}(?:\.[0-9]+)?)?"
)
_IRI: Final = re.compile(r"(?:https?://|urn:)[^\x00-\x20<>\"{}|^`\\*\x7f-\x9f]*")
_OWN: Final = "urn:twinframe:"


@dataclass(frozen=True, slots=True)
class _Template:
    """A rule with a `*`, which stands for the same last name segment of the model on both sides."""

    model: re.Pattern[str]
    iri: re.Pattern[str]
    model_parts: tuple[str, str]
    iri_parts: tuple[str, str]


@dataclass(frozen=True)
class Ontology:
    """Rules by DTMI. A rule for one model takes precedence over a matching rule with `*`.

    `dtmi:com:example:*;1` -> `https://example.org/ns#*` maps `dtmi:com:example:Room;1` to
    `https://example.org/ns#Room`.
    """

    rules: Mapping[str, str]
    _models: Mapping[str, str] = field(init=False, compare=False)
    _templates: tuple[_Template, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        single = {iri: model for model, iri in self.rules.items() if "*" not in model}
        some = [_build_template(*rule) for rule in self.rules.items() if "*" in rule[0]]
        object.__setattr__(self, "_models", single)
        object.__setattr__(self, "_templates", tuple(some))

    def find_iri(self, model_id: str) -> str | None:
        """Return the IRI that a rule gives the model."""
        single = self.rules.get(model_id)
        if single is not None:
            return single
        for template in self._templates:
            found = template.model.fullmatch(model_id)
            if found is not None:
                return found[1].join(template.iri_parts)
        return None

    def find_model(self, iri: str) -> str | None:
        """Return the DTMI of the model that the rules map to this IRI."""
        single = self._models.get(iri)
        if single is not None:
            return single
        for template in self._templates:
            found = template.iri.fullmatch(iri)
            if found is not None:
                return found[1].join(template.model_parts)
        return None

    def find_faults(self) -> Iterator[str]:
        """Yield errors in the rules: malformed ones, and models that two of them map alike."""
        for model, iri in self.rules.items():
            if not _MODEL.fullmatch(model):
                yield f"{model!r} is no DTMI, nor one with `*` for its last name segment"
            elif iri.count("*") != model.count("*"):
                yield f"{model!r} and {iri!r} must both have one `*` or none"
            elif not _IRI.fullmatch(iri.replace("*", "")) or iri.startswith(_OWN):
                yield f"{iri!r} is no http, https or urn IRI outside of {_OWN}"
        for one, other in combinations(self.rules.items(), 2):
            if _may_be_equal(one[1], other[1]):
                yield f"{one[0]!r} and {other[0]!r} may give two models the same IRI"


def _build_template(model: str, iri: str) -> _Template:
    return _Template(
        _build_pattern(model), _build_pattern(iri), _build_parts(model), _build_parts(iri)
    )


def _build_parts(text: str) -> tuple[str, str]:
    before, _, after = text.partition("*")
    return before, after


def _build_pattern(text: str) -> re.Pattern[str]:
    return re.compile(f"({_SEGMENT})".join(map(re.escape, _build_parts(text))))


def _may_be_equal(one: str, other: str) -> bool:
    """Return whether some value of their `*` makes the two texts equal."""
    if "*" not in one:
        return one == other if "*" not in other else bool(_build_pattern(other).fullmatch(one))
    if "*" not in other:
        return bool(_build_pattern(one).fullmatch(other))
    (head, tail), (other_head, other_tail) = _build_parts(one), _build_parts(other)
    return _fits(head, other_head) and _fits(tail[::-1], other_tail[::-1])


def _fits(one: str, other: str) -> bool:
    """Return whether the longer of two prefixes is the shorter one plus a part of a segment."""
    shorter, longer = sorted((one, other), key=len)
    rest = longer[len(shorter) :]
    return longer.startswith(shorter) and (not rest or bool(re.fullmatch(_SEGMENT, rest)))
