"""Builds a context's vocabulary of terms and DTMIs from the tables of this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule, Vocabulary
from twinframe.dtdl.rules.core import CLASSES
from twinframe.dtdl.rules.quantities import Table

FROM_V3 = frozenset({3, 4})
_ENUM_VALUE = frozenset({"EnumValue"})
_UNIT = PropertyRule("unit", Kind.ELEMENT, required=True)
_PREFIXES = (
    "yocto zepto atto femto pico nano micro milli centi deci deca deka hecto kilo mega giga tera "
    "peta exa zetta yotta kibi mebi gibi tebi exbi zebi yobi"
)


def build_feature(
    name: str, version: int, *rules: AdjunctRule, versions: frozenset[int] = FROM_V3
) -> Vocabulary:
    """Return a feature extension `dtmi:dtdl:extension:<name>;<version>` with its types."""
    root = f"dtmi:dtdl:extension:{name}:v{version}"
    terms = {rule.name: f"{root}:{rule.name}" for rule in rules}
    for rule in rules:
        terms |= {prop: f"{root}:{rule.name}:{prop}" for prop in rule.properties}
    return Vocabulary(
        f"dtmi:dtdl:extension:{name};{version}",
        {rule.name: replace(rule, versions=versions) for rule in rules},
        terms,
        {identifier: term for term, identifier in terms.items()},
    )


def build_partner(name: str, version: int, *rules: AdjunctRule, leads: bool = False) -> Vocabulary:
    """Return a partner context `dtmi:<name>:context;<version>` of that language version."""
    terms = {rule.name: f"dtmi:{name}:class:{rule.name};{version}" for rule in rules}
    for rule in rules:
        terms |= {prop: f"dtmi:{name}:property:{prop};{version}" for prop in rule.properties}
    return Vocabulary(
        f"dtmi:{name}:context;{version}",
        {rule.name: replace(rule, versions=frozenset({version})) for rule in rules},
        terms,
        {identifier: term for term, identifier in terms.items()},
        reserved_prefix=f"dtmi:{name}:",
        leads=leads,
    )


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of the DTMIs of a set of semantic types; `{}` stands for the name."""

    kind: str
    prop: str
    unit: str
    enum: str


def build_quantities(
    context: str,
    versions: frozenset[int],
    table: Table,
    forms: Forms,
    on: frozenset[str],
    numeric: frozenset[str],
    *parts: AdjunctRule,
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> Vocabulary:
    """Return semantic types with their units, and `parts`, the types that describe units.

    `numeric` are the schemas that a semantic type requires.
    """
    types, units = table
    terms = {name: forms.kind.format(name) for name in (*types, *units)}
    terms |= {unit: forms.unit.format(unit) for values in units.values() for unit in values}
    terms |= {rule.name: forms.kind.format(rule.name) for rule in parts}
    properties = ("unit", *(name for rule in parts for name in rule.properties))
    terms |= {name: forms.prop.format(name) for name in properties}
    adjuncts = {rule.name: rule for rule in parts}
    for name, unit_type in types.items():
        values = {unit: unit for unit in units[unit_type]}
        values |= {terms[unit]: unit for unit in units[unit_type]}
        adjuncts[name] = AdjunctRule(
            name,
            on,
            {"unit": replace(_UNIT, terms=values, value_type=unit_type)},
            schemas=numeric,
            versions=versions,
        )
    names = {identifier: term for term, identifier in terms.items()}
    names |= {forms.enum.format(name): name for name in units}
    schemas = {name: name for name in units} | {forms.enum.format(name): name for name in units}
    schemas |= {terms[name]: name for name in units}
    schemas |= aliases
    terms |= {alias: forms.kind.format(alias) for alias in aliases}
    enums = {name: forms.enum.format(name) for name in units}
    return Vocabulary(context, adjuncts, terms, names, schemas, units, enum_ids=enums)


def build_unit_parts(units: Iterable[str], versions: frozenset[int]) -> tuple[AdjunctRule, ...]:
    """Return the types by which QuantitativeTypes describes its own units.

    They are on values of an Enum, one of them on everything; models may use them too.
    """
    one = PropertyRule(
        "", Kind.ELEMENT, required=True, classes=_ENUM_VALUE, terms={name: name for name in units}
    )
    top, bottom, base = (replace(one, name=name) for name in ("topUnit", "bottomUnit", "baseUnit"))
    names = {name: name for name in _PREFIXES.split()}
    prefix = replace(one, name="prefix", required=False, terms=names)
    symbol = PropertyRule("symbol", Kind.STRING, required=True)
    exponent = PropertyRule("exponent", Kind.INTEGER, required=True)
    latest = frozenset({max(versions)})

    def build(name: str, *properties: PropertyRule) -> AdjunctRule:
        rules = {rule.name: rule for rule in properties}
        return AdjunctRule(name, _ENUM_VALUE, rules, versions=latest)

    return (
        replace(build("BinaryUnit", base, prefix), on=CLASSES, versions=versions),
        build("DecimalUnit", base, prefix),
        build("RatioUnit", top, bottom),
        build("SymbolicUnit", symbol),
        build("UnitPrefix", exponent, symbol),
    )
