"""The classes in which the tables of `twinframe.dtdl.rules` define the language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum


class Kind(Enum):
    """The kind of a property's values."""

    STRING = "string"
    LANG_STRING = "localizable string"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMERIC = "number"
    DURATION = "duration"
    LITERAL = "string or integer"
    IDENTIFIER = "DTMI"
    ANY = "JSON value"
    ELEMENT = "element"


@dataclass(frozen=True, slots=True)
class PropertyRule:
    """One property of a class or adjunct type.

    `classes` are the classes an ELEMENT value may have; `terms` maps the names (and DTMIs) of
    predefined values to a canonical name; `infer` is the class of a value without `@type`;
    `by_name`: a value without DTMI gets one made of its name; `same_version`: a value is of the
    language version of the element around it; `unique` are nested properties whose values differ
    among the values of this property; `value_type` is the type of the predefined values;
    `conforms`: a value conforms to the `schema` of the element; `differs`: elements that are values
    of one property have different values of this one.
    Counts are of values, lengths are in characters.
    """

    name: str
    kind: Kind
    required: bool = False
    classes: frozenset[str] = frozenset()
    terms: Mapping[str, str] = field(default_factory=dict)
    infer: str | None = None
    plural: bool = False
    min_count: int = 0
    max_count: int | None = None
    max_length: int | None = None
    pattern: re.Pattern[str] | None = None
    pattern_text: str = ""
    minimum: int | None = None
    maximum: int | None = None
    exact: int | None = None
    unique: tuple[str, ...] = ()
    id_required: bool = False
    by_name: bool = False
    same_version: bool = False
    value_type: str = ""
    conforms: bool = False
    differs: bool = False


@dataclass(frozen=True, slots=True)
class ClassRule:
    """One class an element can have. `max_id_length` is in characters."""

    name: str
    properties: Mapping[str, PropertyRule]
    max_id_length: int


@dataclass(frozen=True, slots=True)
class AdjunctRule:
    """A type beside an element's class, which adds properties to the element.

    `on` are the classes it may be beside, `on_beside` those beside which it needs another adjunct
    type; `schemas` are the schema terms or classes its element must have (empty: any),
    `schema_types` adjunct types of that schema; `needs` are adjunct types that must be beside it,
    `excludes` those that must not, as must not two that define properties of one name; `parents`
    are adjunct types of which the element around it must have one, `siblings` those that other
    values of the same property must have, `once`: no second value has this type; `children` names a
    property and the types of which each value must have one. `sibling` is the property that names a
    sibling content, which must be of `sibling_classes` and must not have this type itself;
    `overrides` is the property that names the sibling's adjunct property that this one replaces;
    `versions` are the language versions whose elements may have it.
    """

    name: str
    on: frozenset[str]
    properties: Mapping[str, PropertyRule] = field(default_factory=dict)
    schemas: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    sibling: str | None = None
    sibling_classes: frozenset[str] = frozenset()
    overrides: str | None = None
    versions: frozenset[int] = frozenset({2, 3, 4})
    schema_types: frozenset[str] = frozenset()
    excludes: frozenset[str] = frozenset()
    parents: frozenset[str] = frozenset()
    siblings: frozenset[str] = frozenset()
    once: bool = False
    children: tuple[str, frozenset[str]] | None = None
    on_beside: Mapping[str, str] = field(default_factory=dict)

    def rename(self, name: str) -> AdjunctRule:
        """Return the same rule for a type named `name`."""
        return replace(self, name=name)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that a context defines: adjunct types, and every term with its DTMI.

    `terms` maps a term to its DTMI; `names` is the reverse, DTMI to term. `schemas` maps every
    spelling of a predefined schema it adds to the term; `enums` gives the values of those that are
    enums, and `enum_ids` their DTMIs. `reserved_prefix` starts DTMIs that models must not define.
    `leads`: it may come before the context of the language where that allows any to do so.
    """

    context: str
    adjuncts: Mapping[str, AdjunctRule]
    terms: Mapping[str, str]
    names: Mapping[str, str]
    schemas: Mapping[str, str] = field(default_factory=dict)
    enums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reserved_prefix: str | None = None
    enum_ids: Mapping[str, str] = field(default_factory=dict)
    leads: bool = False


@dataclass(frozen=True, slots=True)
class ChainRule:
    """A limit on the length of chains of elements along `steps`, which must not form a cycle.

    `steps` are property names followed from element to element; only elements of a class in
    `counts` count towards `max_length`. `form` ends the rule codes: one property is narrow.
    """

    steps: frozenset[str]
    counts: frozenset[str]
    max_length: int
    text: str
    form: str


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """All rules of one version of the language, as data.

    There may be several of one version, equal except for numbers: one for each limit context.
    `abstract_classes` are names of types no element can have, each with the class that a finding
    names. `limit_contexts`: the version has them. `solecisms`: a user may choose to tolerate some
    errors of this version.
    """

    version: int
    core: Vocabulary
    classes: Mapping[str, ClassRule]
    id_length: int
    id_pattern: re.Pattern[str]
    id_text: str
    strict_keywords: bool
    undefined_types_tolerated: bool
    affiliates_first: bool
    extends_chain: ChainRule
    schema_chain: ChainRule
    array_free_properties: bool
    hierarchy_extends_max: int | None = None
    hierarchy_elements_max: int | None = None
    schema_cycles: bool = False
    abstract_classes: Mapping[str, str] = field(default_factory=dict)
    limit_contexts: bool = False
    solecisms: bool = False
