"""Parses identifiers of twins, relationships, models and resources.

SPEC: the vendor does not publish its rule for twin and relationship ids. Here they are 1 to 1,024
code points without control characters, compared by code point: no case folding, no normalisation.
Ids that no URL can carry are refused, though bulk requests and import files could: `.`, `..` and
U+FFFD.
"""

from __future__ import annotations

import re
from typing import Final

from twinframe.errors import InvalidArgument

MAX_ID_LENGTH: Final = 1024
MAX_ENTRY_ID_LENGTH: Final = 256
MAX_JOB_ID_LENGTH: Final = 128
MAX_MODEL_ID_LENGTH: Final = 2048
MAX_NAME_LENGTH: Final = 512

# C0 and C1 controls, line and paragraph separator, lone surrogates, U+FFFD to U+FFFF.
_REFUSED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffd-\uffff]")
_MODEL_ID: Final = re.compile(
    r"dtmi:[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?(?::[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?)*"
    r"(?:;[1-9][0-9]{0,8}(?:\.[1-9][0-9]{0,5})?)?"
)
_RESOURCE_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?")

TWIN_LABEL: Final = "Twin"
MODEL_LABEL: Final = "Model"

OPEN_MODELS: Final = "dtmi:twinframe:open:"
"""What the ids of the models of an open graph begin with."""
OPEN_NODE: Final = f"{OPEN_MODELS}node"
"""The model of nodes without labels on an open graph, without its version."""
OPEN_LABEL: Final = f"{OPEN_MODELS}label:"
"""What the model of a label begins with; the label follows."""
OPEN_SET: Final = f"{OPEN_MODELS}set:s"
"""What the model of other nodes begins with."""


def parse_twin_id(text: str) -> str:
    """Check the id and return it; `InvalidArgument` if empty, too long or with a control."""
    return _parse_id("digital twin", text)


def parse_relationship_id(text: str) -> str:
    """Check the id and return it; the same grammar as twin ids."""
    return _parse_id("relationship", text)


def parse_job_id(text: str) -> str:
    """Check the id and return it: as twin ids, but at most 128 characters and no slash.

    SPEC: the vendor publishes none.
    """
    if len(text) > MAX_JOB_ID_LENGTH or "/" in text:
        raise InvalidArgument(
            f"A job id has at most {MAX_JOB_ID_LENGTH} characters and no slash; it is "
            f"{_shown(text)}."
        )
    return _parse_id("job", text)


def parse_entry_id(kind: str, text: str) -> str:
    """Check the id of a definition or document beside the graph, and return it: as twin ids, but at
    most 256 characters.
    """
    return _parse_id(kind, text, MAX_ENTRY_ID_LENGTH)


def is_resource_id(text: str) -> bool:
    """Return whether this can be the id of a resource: a label of a host name, in lower case."""
    return _RESOURCE_ID.fullmatch(text) is not None


def parse_model_id(text: str) -> str:
    """Check a DTMI and return it; `InvalidArgument` if not by the grammar of DTDL v2 or v3."""
    if len(text) > MAX_MODEL_ID_LENGTH or not _MODEL_ID.fullmatch(text):
        raise InvalidArgument(
            f"The format of the Model ID {_shown(text)} provided is not supported. "
            "A model id looks like dtmi:com:example:Room;1."
        )
    return text


def parse_component_name(text: str) -> str:
    """Check a DTDL name and return it; `InvalidArgument` when no component can have this name."""
    if len(text) > MAX_NAME_LENGTH or not _NAME.fullmatch(text):
        raise InvalidArgument(
            f"The component name {_shown(text)} is not a DTDL name: a letter, then letters, digits "
            f"or underscores, not ending in one, at most {MAX_NAME_LENGTH} characters."
        )
    return text


def build_model_name(model_id: str) -> str:
    """Return the last name segment of a DTMI: `Room` of `dtmi:com:example:Room;1`."""
    return model_id.partition(";")[0].rpartition(":")[2]


def build_family(model_id: str) -> str:
    """Return the DTMI without its version: the same for all versions of a model."""
    return model_id.partition(";")[0]


def build_labels(ancestors: frozenset[str]) -> frozenset[str]:
    """Return the labels of a twin whose interface and its ancestors have these DTMIs.

    A node of an open graph has its own labels alone.
    """
    if any(model_id.startswith(OPEN_MODELS) for model_id in ancestors):
        return frozenset(
            build_model_name(model_id) for model_id in ancestors if model_id.startswith(OPEN_LABEL)
        )
    names = {build_model_name(model_id) for model_id in ancestors}
    return frozenset({TWIN_LABEL} | ancestors | names)


def is_model_name(text: str) -> bool:
    """Return whether this can be a name in a DTMI, or of a property."""
    return len(text) <= MAX_NAME_LENGTH and _NAME.fullmatch(text) is not None


def _parse_id(kind: str, text: str, longest: int = MAX_ID_LENGTH) -> str:
    if not text:
        raise InvalidArgument(f"A {kind} id must not be empty.")
    if text in (".", ".."):
        raise InvalidArgument(f"A {kind} id cannot be '.' or '..': a URL could not name it.")
    if len(text) > longest:
        raise InvalidArgument(
            f"A {kind} id has at most {longest} characters, this one has {len(text)}."
        )
    refused = _REFUSED.search(text)
    if refused:
        raise InvalidArgument(
            f"A {kind} id must not contain U+{ord(refused[0]):04X} "
            f"(at position {refused.start()} of {_shown(text)})."
        )
    return text


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 100 else f"{text[:100]}...")
