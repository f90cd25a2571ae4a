"""How a vocabulary is made of a table: the terms and DTMIs that a context brings.

It holds no context itself; the tables are the modules beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule, Vocabulary

FROM_V3 = frozenset({3, 4})
_UNIT = PropertyRule("unit", Kind.ELEMENT, required=True)


def build_feature(name: str, version: int, *rules: AdjunctRule) -> Vocabulary:
    """Return a feature extension `dtmi:dtdl:extension:<name>;<version>` with its types."""
    root = f"dtmi:dtdl:extension:{name}:v{version}"
    terms = {rule.name: f"{root}:{rule.name}" for rule in rules}
    for rule in rules:
        terms |= {prop: f"{root}:{rule.name}:{prop}" for prop in rule.properties}
    return Vocabulary(
        f"dtmi:dtdl:extension:{name};{version}",
        {rule.name: replace(rule, versions=FROM_V3) for rule in rules},
        terms,
        {identifier: term for term, identifier in terms.items()},
    )


def build_partner(name: str, version: int, *rules: AdjunctRule) -> Vocabulary:
    """Return a partner context `dtmi:<name>:context;<version>` with its types."""
    terms = {rule.name: f"dtmi:{name}:class:{rule.name};{version}" for rule in rules}
    for rule in rules:
        terms |= {prop: f"dtmi:{name}:property:{prop};{version}" for prop in rule.properties}
    return Vocabulary(
        f"dtmi:{name}:context;{version}",
        {rule.name: rule for rule in rules},
        terms,
        {identifier: term for term, identifier in terms.items()},
        reserved_prefix=f"dtmi:{name}:",
    )


def build_quantities(
    context: str,
    versions: frozenset[int],
    types: Mapping[str, str],
    units: Mapping[str, tuple[str, ...]],
    forms: tuple[str, str, str, str],
    on: frozenset[str],
    numeric: frozenset[str],
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> Vocabulary:
    """Return semantic types with their units.

    `forms` spell the DTMIs of type, property, unit and the enum of a unit type; `numeric` are the
    schemas that such a type asks for.
    """
    type_form, property_form, unit_form, enum_form = forms
    terms = {name: type_form.format(name) for name in (*types, *units)}
    terms |= {unit: unit_form.format(unit) for values in units.values() for unit in values}
    terms["unit"] = property_form.format("unit")
    adjuncts = {}
    for name, unit_type in types.items():
        values = {unit: unit for unit in units[unit_type]}
        values |= {terms[unit]: unit for unit in units[unit_type]}
        adjuncts[name] = AdjunctRule(
            name,
            on,
            {"unit": replace(_UNIT, terms=values, value_type=unit_type)},
            schemas=numeric,
            group="semantic type",
            versions=versions,
        )
    names = {identifier: term for term, identifier in terms.items()}
    names |= {enum_form.format(name): name for name in units}
    schemas = {name: name for name in units} | {enum_form.format(name): name for name in units}
    schemas |= {terms[name]: name for name in units}
    schemas |= aliases
    terms |= {alias: type_form.format(alias) for alias in aliases}
    enums = {name: enum_form.format(name) for name in units}
    return Vocabulary(context, adjuncts, terms, names, schemas, units, enum_ids=enums)
