"""Validates decoded twins, components, relationships and telemetry against their interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from twinframe.dtdl.findings import render_nearest, render_value
from twinframe.dtdl.interfaces import Interface, Property, Relationship, Telemetry
from twinframe.dtdl.scalars import Test
from twinframe.dtdl.values import Mismatch, compile_test, list_mismatches, render_type
from twinframe.errors import ErrorDetail, ValidationFailed

_TWIN = "Twin"
_NAME = "/$relationshipName"
_ROOT_NAMES = frozenset({"$dtId", "$etag", "$metadata"})
_PART_NAMES = frozenset({"$metadata"})
_MAX_MISMATCHES = 20
_MAX_DETAILS = 100


def _detail(message: str, target: str) -> ErrorDetail:
    return ErrorDetail(ValidationFailed.code, message, target)


def _point(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")  # SPEC: RFC 6901 section 3


@dataclass(frozen=True, slots=True, eq=False)
class PropertySet:
    """Compiled properties (or telemetries) of one owner: a twin, a component, a relationship.

    `owner` is its name in error texts, `at` the JSON pointer to it; `others` are contents that are
    not properties, name to kind; `ignored` are `$`-names that are allowed beside the properties;
    `required`: fields that the Requirement extension names must exist, and the properties `wanted`;
    `noun` is the word for the properties.
    """

    owner: str
    properties: Mapping[str, Property | Telemetry]
    tests: Mapping[str, Test]
    others: Mapping[str, str]
    ignored: frozenset[str]
    required: bool = False
    noun: str = "property"
    at: str = ""
    wanted: tuple[str, ...] = ()

    def validate_all(self, values: Mapping[str, object]) -> list[ErrorDetail]:
        """Return every violation among `values`."""
        tests = self.tests
        details: list[ErrorDetail] = []
        for name, value in values.items():
            test = tests.get(name)
            if test is None:
                if name not in self.ignored:
                    details.append(self.explain_name(name))
            elif not test(value):
                details += self.explain_value(name, value)
            # SEC: explaining is expensive; a document of nothing but errors must not occupy a
            # worker.
            if len(details) >= _MAX_DETAILS:
                return details
        return details + self.list_missing(values) if self.wanted else details

    def list_missing(self, values: Mapping[str, object]) -> list[ErrorDetail]:
        """Return one violation for each required property that `values` lack."""
        text = f"{self.owner} lacks the required property"
        return [
            _detail(f"{text} {name}.", self.at + _point(name))
            for name in self.wanted
            if name not in values
        ]

    def validate_one(self, name: str, value: object) -> list[ErrorDetail]:
        """Return every violation of one property."""
        test = self.tests.get(name)
        if test is None:
            return [self.explain_name(name)]
        return [] if test(value) else self.explain_value(name, value)

    def explain_name(self, name: str) -> ErrorDetail:
        """Return the violation of using `name` as a property."""
        target = self.at + _point(name)
        kind = self.others.get(name)
        if kind is not None:
            return _detail(f"{name} is not a {self.noun} - it is a {kind}.", target)
        if name.startswith("$"):
            allowed = ", ".join(sorted(self.ignored)) or "none"
            return _detail(
                f"{name} does not appear on the DTDL for {self.owner}. "
                f"Names with '$' are reserved; allowed here: {allowed}.",
                target,
            )
        near = render_nearest(name, self.properties)
        return _detail(f"{name} does not appear on the DTDL for {self.owner}.{near}", target)

    def explain_value(self, name: str, value: object) -> list[ErrorDetail]:
        """Return the violations of a value that its test refused."""
        schema = self.properties[name].schema
        details: list[ErrorDetail] = []
        for mismatch in list_mismatches(schema, value, required=self.required):
            if len(details) == _MAX_MISMATCHES:
                break
            stem = f"Expected value of type {render_type(schema)} for {name} on {self.owner}."
            text = f"{stem} {_render_mismatch(mismatch)}"
            details.append(_detail(text, self.at + _point(name)))
        return details


def _render_mismatch(mismatch: Mismatch) -> str:
    where = f"At {mismatch.path}: " if mismatch.path else ""
    text = f"{where}{render_value(mismatch.value)} is not {mismatch.right}"
    return text if text.endswith(("?", ".")) else f"{text}."


def _compile_properties(
    owner: str, interface: Interface, ignored: frozenset[str], *, required: bool, at: str = ""
) -> PropertySet:
    others = dict.fromkeys(interface.telemetries, "Telemetry")
    others |= dict.fromkeys(interface.relationships, "Relationship")
    others |= dict.fromkeys(interface.commands, "Command")
    others |= dict.fromkeys(interface.components, "Component")
    return PropertySet(
        owner,
        interface.properties,
        _compile_tests(interface.properties, required=required),
        others,
        ignored,
        required,
        at=at,
        wanted=_list_wanted(interface.properties) if required else (),
    )


def _compile_telemetries(owner: str, interface: Interface, *, required: bool) -> PropertySet:
    contents = interface.contents.values()
    others = {c.name: type(c).__name__ for c in contents if not isinstance(c, Telemetry)}
    return PropertySet(
        owner,
        interface.telemetries,
        _compile_tests(interface.telemetries, required=required),
        others,
        frozenset(),
        required,
        "telemetry",
    )


def _compile_tests(
    properties: Mapping[str, Property] | Mapping[str, Telemetry], *, required: bool
) -> dict[str, Test]:
    return {name: compile_test(prop.schema, required=required) for name, prop in properties.items()}


def _list_wanted(properties: Mapping[str, Property]) -> tuple[str, ...]:
    return tuple(name for name, prop in properties.items() if "Required" in prop.types)


def _compile_relationship(relationship: Relationship, *, required: bool) -> PropertySet:
    return PropertySet(
        relationship.name,
        relationship.properties,
        _compile_tests(relationship.properties, required=required),
        {},
        frozenset(),
        required,
        wanted=_list_wanted(relationship.properties) if required else (),
    )


@dataclass(frozen=True, slots=True, eq=False)
class TwinValidator:
    """Validates instances of one interface; made by `compile_validator`, safe to share.

    Every method returns the violations in order of discovery, each with the code
    `ValidationFailed`, and an empty list where there are none; after a hundred of them it stops.
    `parts` are the interfaces of the components.

    PERF: relationships are compiled at the first validation of one: most derived interfaces never
    see one of their relationships, and they are two thirds of a validator. Two threads compile
    equal ones.
    """

    interface: Interface
    root: PropertySet
    components: Mapping[str, PropertySet]
    parts: Mapping[str, Interface]
    required: bool
    links: dict[str, PropertySet] = field(default_factory=dict)

    def validate_twin(self, document: Mapping[str, object]) -> list[ErrorDetail]:
        """Validate a whole twin: all properties optional, all components present as objects.

        `$dtId`, `$etag` and `$metadata` are ignored, any other `$`-name is a violation.
        """
        details: list[ErrorDetail] = []
        root = self.root
        tests = root.tests
        components = self.components
        for name, value in document.items():
            test = tests.get(name)
            if test is not None:
                if not test(value):
                    details += root.explain_value(name, value)
            elif name in components:
                details += self._validate_part(name, value)
            elif name not in _ROOT_NAMES:
                details.append(root.explain_name(name))
            if len(details) >= _MAX_DETAILS:
                return details
        for name in components:
            if name not in document:
                details.append(self._missing(name))
        return details + root.list_missing(document) if root.wanted else details

    def validate_content(self, name: str, value: object) -> list[ErrorDetail]:
        """Validate one root property or one whole component, as a patch sets it."""
        if name in self.components:
            return self._validate_part(name, value)
        return self.root.validate_one(name, value)

    def validate_component(self, name: str, value: Mapping[str, object]) -> list[ErrorDetail]:
        """Validate the content of one component; `$metadata` in it is ignored."""
        part = self.components.get(name)
        if part is None:
            near = render_nearest(name, self.components)
            return [
                _detail(f"{name} is not a component of {self.interface.id}.{near}", _point(name))
            ]
        return part.validate_all(value)

    def validate_relationship(
        self, name: str, properties: Mapping[str, object]
    ) -> list[ErrorDetail]:
        """Validate the custom properties of a relationship named `name`."""
        part = self._find_relationship(name)
        if part is None:
            kind = self.root.others.get(name)
            if kind is None and name in self.root.properties:
                kind = "Property"
            if kind is not None:
                return [_detail(f"{name} is not a relationship - it is a {kind}.", _NAME)]
            near = render_nearest(name, self.interface.relationships)
            text = f"{name} is not a relationship of {self.interface.id}.{near}"
            return [_detail(text, _NAME)]
        return part.validate_all(properties)

    def validate_telemetry(
        self, payload: object, component: str | None = None, *, strict: bool = False
    ) -> list[ErrorDetail]:
        """Accept any JSON object, as the vendor's service does, without using the model.

        With `strict` every member must be a telemetry of the model, with a value of its schema.
        """
        if component is not None and component not in self.components:
            near = render_nearest(component, self.components)
            return [_detail(f"{component} is not a component of {self.interface.id}.{near}", "")]
        if isinstance(payload, Mapping):
            return self._compile_emitter(component).validate_all(payload) if strict else []
        return [_detail(f"Telemetry must be a JSON object; it is {render_value(payload)}.", "")]

    def _find_relationship(self, name: str) -> PropertySet | None:
        compiled = self.links.get(name)
        if compiled is None and (link := self.interface.relationships.get(name)) is not None:
            compiled = self.links[name] = _compile_relationship(link, required=self.required)
        return compiled

    def _compile_emitter(self, component: str | None) -> PropertySet:
        emitter = self.interface if component is None else self.parts[component]
        return _compile_telemetries(component or _TWIN, emitter, required=self.required)

    def _validate_part(self, name: str, value: object) -> list[ErrorDetail]:
        if not isinstance(value, Mapping):
            return [
                _detail(
                    f"Expected value of type component for {name} on {_TWIN}. "
                    f"{render_value(value)} is not an object.",
                    _point(name),
                )
            ]
        return self.components[name].validate_all(value)

    def _missing(self, name: str) -> ErrorDetail:
        schema = self.interface.components[name].schema
        return _detail(
            f"{_TWIN} is missing component {name} of {schema}; every component of the model must "
            "be present, at least as an empty object.",
            _point(name),
        )


def compile_validator(
    interface: Interface, lookup: Callable[[str], Interface], *, required: bool = False
) -> TwinValidator:
    """Compile the validator of an interface; `lookup` returns the interfaces of components.

    `required` enforces the fields and properties that the Requirement extension names, which the
    vendor's service does not.

    An interface is immutable under its DTMI, so the result can be cached as long as it. The errors
    of `lookup` for an unknown DTMI are passed on.
    """
    parts = {name: lookup(c.schema) for name, c in interface.components.items()}
    return TwinValidator(
        interface,
        _compile_properties(_TWIN, interface, _ROOT_NAMES, required=required),
        {
            name: _compile_properties(name, part, _PART_NAMES, required=required, at=_point(name))
            for name, part in parts.items()
        },
        parts,
        required,
    )
