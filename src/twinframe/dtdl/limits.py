"""The options of the model parser: limits and profiles in addition to the language's rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParserLimits:
    """Options of `parse_models`; the defaults are exactly the DTDL specification.

    `max_nesting` bounds how deep elements may be nested in one document.
    `allow_undefined_extensions` accepts unknown contexts, and names that they may define.
    `max_language_version` refuses later language versions. `acceptable_limits` are the limit
    contexts a model may choose, such as `dtmi:dtdl:limits:onvif` for all versions of it or
    `dtmi:dtdl:limits:onvif;1` for one, with `accept_all_limits` every one that is known; the limits
    of the language itself are always accepted. `tolerate_solecisms` and
    `tolerate_resolved_solecisms` accept errors in DTDL v2 models, uploaded and resolved ones, that
    older services accepted: contents of one name (the first counts), references as `{"@id": ...}`,
    and DTMIs with reserved prefixes. The rest are choices of one vendor's service: no Command, no
    Interface defined inside another, every item an Interface object. `trust_resolved` parses
    resolved documents without reporting on them.
    """

    max_nesting: int = 64
    allow_undefined_extensions: bool = False
    max_language_version: int = 4
    acceptable_limits: frozenset[str] = frozenset()
    accept_all_limits: bool = False
    tolerate_solecisms: bool = False
    tolerate_resolved_solecisms: bool = False
    allow_commands: bool = True
    allow_inline_interfaces: bool = True
    allow_document_arrays: bool = True
    trust_resolved: bool = True


SPECIFICATION = ParserLimits()
"""The language as specified."""

SERVICE = ParserLimits(allow_inline_interfaces=False, allow_document_arrays=False)
"""The profile of the graph service: the vendor's, except that commands are accepted and stored."""
