"""The Digital Twins Definition Language: parses and validates models, and validates instances.

It depends on no graph, store or transport, and can be used alone.
"""

from __future__ import annotations

from twinframe.dtdl.comparison import Change, Effect, compare_models
from twinframe.dtdl.dtmi import is_dtmi, parse_name, parse_version, parse_versionless
from twinframe.dtdl.findings import ModelFinding
from twinframe.dtdl.interfaces import (
    Command,
    CommandPayload,
    Component,
    Content,
    Hierarchy,
    Interface,
    ModelSet,
    Property,
    Relationship,
    Telemetry,
    build_hierarchy,
    build_initial_values,
)
from twinframe.dtdl.limits import SERVICE, SPECIFICATION, ParserLimits
from twinframe.dtdl.parser import Resolver, parse_models
from twinframe.dtdl.scalars import parse_value
from twinframe.dtdl.schemas import (
    ArraySchema,
    EnumSchema,
    GeospatialSchema,
    MapSchema,
    ObjectSchema,
    OpenSchema,
    PrimitiveSchema,
    Schema,
    SchemaReference,
)
from twinframe.dtdl.texts import ModelText, parse_model_texts, read_model_files
from twinframe.dtdl.validation import TwinValidator, compile_validator
from twinframe.dtdl.values import Mismatch, compile_test, list_mismatches

__all__ = [
    "SERVICE",
    "SPECIFICATION",
    "ArraySchema",
    "Change",
    "Command",
    "CommandPayload",
    "Component",
    "Content",
    "Effect",
    "EnumSchema",
    "GeospatialSchema",
    "Hierarchy",
    "Interface",
    "MapSchema",
    "Mismatch",
    "ModelFinding",
    "ModelSet",
    "ModelText",
    "ObjectSchema",
    "OpenSchema",
    "ParserLimits",
    "PrimitiveSchema",
    "Property",
    "Relationship",
    "Resolver",
    "Schema",
    "SchemaReference",
    "Telemetry",
    "TwinValidator",
    "build_hierarchy",
    "build_initial_values",
    "compare_models",
    "compile_test",
    "compile_validator",
    "is_dtmi",
    "list_mismatches",
    "parse_model_texts",
    "parse_models",
    "parse_name",
    "parse_value",
    "parse_version",
    "parse_versionless",
    "read_model_files",
]
