"""Content negotiation: the syntax of an answer is what `format` names, else what `Accept`
prefers.
"""

from __future__ import annotations

from collections.abc import Sequence

from falcon import mediatypes
from falcon.asgi import Request, Response
from falcon.errors import InvalidMediaRange

from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import find_nearest
from twinframe.http.errors import NotAcceptable
from twinframe.storage.triples import Syntax


def choose_syntax(request: Request, offered: Sequence[Syntax]) -> Syntax:
    """Return the best of `offered`, the first among equals.

    SPEC: RFC 9110 section 12.5.1, with q-values; the most specific range decides about a type.
    Raises `NotAcceptable` naming all media types if none fits, `InvalidArgument` for a wrong
    `format`.
    """
    named = request.get_param("format")
    if named is not None:
        return _find_named(named, offered)
    header = request.get_header("Accept") or "*/*"
    try:
        rated = [
            (max(mediatypes.quality(media_type, header) for media_type in one.media_types), one)
            for one in offered
        ]
    except (InvalidMediaRange, ValueError) as error:
        raise InvalidArgument(f"The Accept header {header!a} cannot be read.") from error
    quality, best = max(rated, key=lambda pair: pair[0])
    if quality <= 0:
        types = ", ".join(media_type for one in offered for media_type in one.media_types)
        raise NotAcceptable(f"The answer cannot be given as {header!a}. It can be: {types}.")
    return best


def write_syntax(response: Response, syntax: Syntax) -> None:
    """Set Content-Type of the syntax, and Vary."""
    media_type = syntax.media_types[0]
    text = media_type.startswith("text/")
    response.content_type = f"{media_type}; charset=utf-8" if text else media_type
    response.set_header("vary", "Accept")


def _find_named(name: str, offered: Sequence[Syntax]) -> Syntax:
    for one in offered:
        if name.lower() in (one.name, one.suffix, *one.media_types):
            return one
    names = [one.name for one in offered]
    near = find_nearest(name, names)
    hint = f" Did you mean {near}?" if near else ""
    raise InvalidArgument(f"format must be one of {', '.join(names)}, not {name!a}.{hint}")
