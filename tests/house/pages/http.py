"""Renderer of the reference pages of routes and errors in `docs/reference`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from twinframe import errors
from twinframe.control.http.routes import CONTROL_ROUTES
from twinframe.http.errors import HttpError, find_status
from twinframe.http.operations import SIGNED_IN, Route
from twinframe.http.routes import ROUTES
from twinframe.http.server import framing


def render_routes_page() -> str:
    """Return the page `docs/reference/routes.md`."""
    lines = [_ROUTES_INTRODUCTION]
    for tag in dict.fromkeys(route.tag for route in ROUTES):
        lines += [f"## {tag}", "", *_ROUTES_HEAD]
        lines += [_render_route(route) for route in ROUTES if route.tag == tag]
        lines.append("")
    return "\n".join(lines)


def render_control_routes_page() -> str:
    """Return the page `docs/reference/control-routes.md`."""
    routes = [route for route in CONTROL_ROUTES if route.permission is not None]
    lines = [_CONTROL_INTRODUCTION]
    for tag in dict.fromkeys(route.tag for route in routes):
        lines += [f"## {tag}", "", *_CONTROL_HEAD]
        lines += [_render_control_route(route) for route in routes if route.tag == tag]
        lines.append("")
    return "\n".join(lines)


def render_errors_page() -> str:
    """Return the page `docs/reference/errors.md`."""
    rows = {kind.code: (find_status(kind), _describe(kind)) for kind in _list_errors()}
    for fault in vars(framing).values():
        if isinstance(fault, framing.Fault):
            rows.setdefault(fault.code, (fault.status, fault.message))
    rows[errors.TwinframeError.code] = (500, _INTERNAL)
    lines = [
        f"| {status} | `{code}` | {meaning} |"
        for status, code, meaning in sorted((s, code, text) for code, (s, text) in rows.items())
    ]
    return "\n".join([_ERRORS_INTRODUCTION, *lines, ""])


def _describe(kind: type[errors.TwinframeError]) -> str:
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())


def _render_route(route: Route) -> str:
    codes = "; ".join(f"{status} {names}" for status, names in sorted(route.errors.items()))
    answer = str(route.answer.status)
    permission = f"`{route.permission}`" if route.permission else "–"
    if route.permission == SIGNED_IN:
        permission = "credentials"
    return (
        f"| `{route.method} {route.path}` | {route.summary} | {answer} | {codes or '–'} "
        f"| {permission} |"
    )


def _render_control_route(route: Route) -> str:
    errors = ", ".join(str(status) for status in sorted(route.errors))
    needed = "a token" if route.permission == SIGNED_IN else f"`{route.permission}`"
    return (
        f"| `{route.method} {route.path}` | {route.summary} | {route.answer.status} "
        f"| {errors or '–'} | {needed} |"
    )


def _list_errors() -> Iterator[type[errors.TwinframeError]]:
    """Yield the error classes that a request may meet, one for each code."""
    todo, found = [errors.TwinframeError], dict[str, type[errors.TwinframeError]]()
    while todo:
        present = todo.pop()
        # NOTE: several classes may share a code; the one named after it explains it.
        if present.code == present.__name__:
            found[present.code] = present
        elif present is not HttpError and present.code != errors.TwinframeError.code:
            found.setdefault(present.code, present)
        todo += [
            heir
            for heir in present.__subclasses__()
            if heir.__module__.startswith(_ERROR_MODULES)
            and not issubclass(heir, errors.ConfigurationError)
        ]
    return iter(found.values())


_INTERNAL = "A defect of the service; its log says more under the answer's `x-request-id`."
_ERROR_MODULES = (errors.__name__, HttpError.__module__)
_ROUTES_HEAD = ("| operation | what it does | answers | errors | permission |", "| --- " * 5 + "|")
_ROUTES_INTRODUCTION = """# Routes

This page is generated from the route table; do not edit it.

The API answers at `/` and under the base path (`Server__BasePath`, `/api` by default). Upper and
lower case are equal in path names, but not in ids. Any `api-version` is accepted, and so is
none. The vendor's operations ignore unknown query parameters, as the vendor's service does; so
do `/sparql` and the operations that require no permission. All other operations refuse them and
name the nearest known parameter.

Every operation may answer 400 `InvalidArgument` and the [errors of HTTP](errors.md). HEAD is
answered wherever GET is. The description for machines is `/openapi.json`; try operations out at
`/swagger`.

A write whose condition does not hold changes nothing and answers 412 `PreconditionFailed`:

* `If-Match` (`*`, or ETags) applies to each PUT, PATCH and DELETE of a twin, a component or a
  relationship, to each item of a bulk write, and as `ifMatch` to each operation of a
  transaction. A PUT with `If-Match` only replaces; the vendor's service ignores the header
  there.
* A PUT with `If-None-Match: *` only creates. It accepts no ETag in this header, like the
  vendor's service. PATCH and DELETE accept both forms.
* Event routes have no ETag: a PUT accepts `*` in either header. Other operations that write
  accept `If-Match: *` if they change one existing thing, and `If-None-Match: *` if they only
  create. Any other condition answers 412, because the service cannot check it.
* `If-Unmodified-Since` answers 412 everywhere, unless `If-Match` is also sent, which takes
  precedence.
"""
_CONTROL_HEAD = ("| operation | what it does | answers | errors | needs |", "| --- " * 5 + "|")
_CONTROL_INTRODUCTION = """# Routes of the control plane

This page is generated from the route table; do not edit it.

Every call requires a bearer token with the scopes of `Control__RequiredScopes`: 401 without a
token, 403 without a scope. The last column names the permission that it also requires. The
caller has the permission if a role gives it at the object that the path or body names, or at one
that contains it. `a token` means that nothing else is required.

* An error is `{"error"}`, and for 400 `{"error", "details", "findings"}`. `findings` is a list
  of texts, one for each finding; `details` is all of them in one text.
* Objects that the caller may not see are answered as objects that do not exist.
* Listings accept `limit` and `offset` and return `total`. A page of more than 4 MiB is cut: its
  `limit` is the number of its items, and the next page begins after them.
* Unknown query parameters and unknown members of bodies are refused.

The description for machines is `/api/v1/openapi.json`; try operations out at `/api/v1/swagger`.
"""
_ERRORS_INTRODUCTION = """# Errors

This page is generated from the error tree; do not edit it.

Every error of the API has the vendor's envelope. The header `x-ms-error-code` repeats its code:

```json
{
  "error": {
    "code": "DigitalTwinNotFound",
    "message": "There is no digital twin instance that exists with the ID room-7."
  }
}
```

`details` lists the findings if there can be several: `ValidationFailed` has one entry for each
violation, `DTDLParserError` one for each broken rule. A JSON Patch with elements that are no
objects is answered with `application/problem+json`, as by the vendor's service. A request that
is answered with an error has changed nothing. 503 has `Retry-After`.

| status | code | meaning |
| --- | --- | --- |"""
