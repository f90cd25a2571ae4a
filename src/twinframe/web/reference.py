"""The routes and the errors as text: two reference pages. It serves neither."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from twinframe import errors
from twinframe.web.errors import EdgeError, find_status
from twinframe.web.operations import Route
from twinframe.web.routes import ROUTES


def render_routes_page() -> str:
    """The page `docs/reference/routes.md`."""
    lines = [_ROUTES_INTRODUCTION]
    for tag in dict.fromkeys(route.tag for route in ROUTES):
        lines += [f"## {tag}", "", *_ROUTES_HEAD]
        lines += [_render_route(route) for route in ROUTES if route.tag == tag]
        lines.append("")
    return "\n".join(lines)


def render_errors_page() -> str:
    """The page `docs/reference/errors.md`."""
    lines = [_ERRORS_INTRODUCTION]
    for kind in _list_errors(errors.TwinframeError):
        if kind.code == errors.TwinframeError.code or issubclass(kind, errors.ConfigurationError):
            continue
        meaning = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
        lines.append(f"| {find_status(kind)} | `{kind.code}` | {meaning} |")
    return "\n".join([*lines, ""])


def _render_route(route: Route) -> str:
    codes = "; ".join(f"{status} {names}" for status, names in sorted(route.errors.items()))
    answer = str(route.answer.status) if route.built else "501, not built yet"
    permission = f"`{route.permission}`" if route.permission else "–"
    return (
        f"| `{route.method} {route.path}` | {route.summary} | {answer} | {codes or '–'} "
        f"| {permission} |"
    )


def _list_errors(
    kind: type[errors.TwinframeError],
) -> Iterator[type[errors.TwinframeError]]:
    """Leaves and inner classes of the tree in the order of their status, then code, each once."""
    todo, found = [kind], dict[str, type[errors.TwinframeError]]()
    while todo:
        present = todo.pop()
        # NOTE: several classes may share a code; the first one, nearest the root, explains it.
        if present is not EdgeError:
            found.setdefault(present.code, present)
        todo += [heir for heir in present.__subclasses__() if heir.__module__ in _ERROR_MODULES]
    return iter(sorted(found.values(), key=lambda each: (find_status(each), each.code)))


_ERROR_MODULES = (errors.__name__, EdgeError.__module__)
_ROUTES_HEAD = ("| operation | what it does | answers | errors | permission |", "| --- " * 5 + "|")
_ROUTES_INTRODUCTION = """# Routes

This page is generated from the route table; do not edit it.

The API answers at `/` and under the base path (`Server__BasePath`, `/api` by default). Path names
are matched in any case; ids are not. Any `api-version`, or none, is accepted. 400
`InvalidArgument` and the errors of the [edge](errors.md) may come from every operation. The
machine-readable form is `/openapi.json`, to try out `/swagger`.
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
