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
            if heir.__module__ in _ERROR_MODULES and not issubclass(heir, errors.ConfigurationError)
        ]
    return iter(found.values())


_INTERNAL = "A defect of the service; its log says more under the answer's `x-request-id`."
_ERROR_MODULES = (errors.__name__, HttpError.__module__)
_ROUTES_HEAD = ("| operation | what it does | answers | errors | permission |", "| --- " * 5 + "|")
_ROUTES_INTRODUCTION = """# Routes

This page is generated from the route table; do not edit it.

The API answers at `/` and under the base path (`Server__BasePath`, `/api` by default). Path names
are matched in any case; ids are not. Any `api-version`, or none, is accepted. Other query
parameters that an operation does not take are passed over, as by the vendor, whose operations
these are, at `/sparql`, whose clients send some of their own, and where no permission is needed;
the operations beyond the vendor's refuse them with the nearest name. 400 `InvalidArgument` and
the errors of the [edge](errors.md) may come from every operation. HEAD answers wherever GET does.
The machine-readable form is `/openapi.json`, to try out `/swagger`.

A condition that does not hold never writes: 412 `PreconditionFailed`, and nothing was changed.

* `If-Match` (`*`, or ETags) counts for each PUT, PATCH and DELETE of a twin, a component or a
  relationship, for each item of a bulk write, and as `ifMatch` for each operation of a transaction.
  A PUT with it only replaces; the vendor's service passes over it there.
* `If-None-Match: *` of a PUT only creates; a PUT takes no ETag there, as with the vendor. PATCH and
  DELETE take both forms.
* Event routes have no ETag: a PUT takes `*` in either header. Other operations that write take
  `If-Match: *` where one thing that is there is changed, and `If-None-Match: *` where they only
  create. Anything else there is 412: it cannot be shown to hold.
* `If-Unmodified-Since` is 412 everywhere, unless `If-Match` comes with it and goes before it.
"""
_CONTROL_HEAD = ("| operation | what it does | answers | errors | needs |", "| --- " * 5 + "|")
_CONTROL_INTRODUCTION = """# Routes of the control plane

This page is generated from the route table; do not edit it.

Every call needs a bearer token with the scopes of `Control__RequiredScopes` (401 without a token,
403 without a scope); what else it needs is a permission, held by a role at what the path or body
names or at what that lies in. `a token`: nothing else. Errors are `{"error"}`, 400 is
`{"error", "details", "findings"}`: `findings` has one text a finding, `details` is all of them in
one text. What a caller may not see is answered as what does not exist. Listings take `limit` and
`offset` and tell `total`. A page that would be larger than 4 MiB is cut: its `limit` says how many
items it has, and the next page begins behind those. Query parameters and members of bodies that an
operation does not know are refused. The machine-readable form is `/api/v1/openapi.json`, to try
out `/api/v1/swagger`.
"""
_ERRORS_INTRODUCTION = """# Errors

This page is generated from the error tree; do not edit it.

Every error of the API has the vendor's envelope, and its code once more in the header
`x-ms-error-code`:

```json
{
  "error": {
    "code": "DigitalTwinNotFound",
    "message": "There is no digital twin instance that exists with the ID room-7."
  }
}
```

`details` lists the findings where there are several: `ValidationFailed` has one entry a
violation, `DTDLParserError` one a rule broken. A JSON Patch whose elements are no objects is
answered with `application/problem+json`, as the vendor does. Nothing is changed by a request that
is answered with an error. 503 carries `Retry-After`.

| status | code | meaning |
| --- | --- | --- |"""
