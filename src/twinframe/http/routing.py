"""The router for Falcon: it maps the segments of a request target to the responders of a path.

Literal segments match in any case, as the vendor's do; a parameter matches any non-empty segment,
`/` inside it included. The routes come from `routes`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from falcon.asgi import Request, Response
from falcon.routing import CompiledRouter

from twinframe.http.errors import MethodNotAllowed
from twinframe.http.exchange import SCOPE_KEY, Exchange

BoundResponder = Callable[..., Awaitable[None]]
Found = tuple[object, dict[str, Any], dict[str, Any], str | None]


class MethodMap(dict[str, BoundResponder]):
    """Responders of one path by method. An unknown method is answered with 405 and `Allow`."""

    def __missing__(self, method: str) -> BoundResponder:
        allowed = tuple(sorted({*self, "OPTIONS"}))

        async def refuse(_request: Request, _response: Response, **_params: str) -> None:
            raise MethodNotAllowed(method, allowed)

        return refuse


@dataclass(slots=True)
class _Node:
    literals: dict[str, _Node] = field(default_factory=dict)
    parameter: _Node | None = None
    name: str = ""
    template: str = ""
    methods: MethodMap | None = None


class TableRouter(CompiledRouter):
    """A tree of path segments, filled with `add`."""

    def __init__(self) -> None:
        super().__init__()
        self._root = _Node()

    def add(self, template: str, method: str, responder: BoundResponder) -> None:
        """Add a responder; `template` is like `/models/{id}`, one name per position."""
        node = self._root
        for part in template.strip("/").split("/"):
            if part.startswith("{"):
                if node.parameter is None:
                    node.parameter = _Node()
                    node.name = part[1:-1]
                elif node.name != part[1:-1]:
                    raise ValueError(f"{template}: the parameter here is {{{node.name}}} elsewhere")
                node = node.parameter
            else:
                node = node.literals.setdefault(part.lower(), _Node())
        node.template = template
        if node.methods is None:
            node.methods = MethodMap()
        if method in node.methods:
            raise ValueError(f"{method} {template} stands in the table twice")
        node.methods[method] = responder

    def paths(self) -> list[tuple[str, MethodMap]]:
        """Return all templates with their responders."""
        found: list[tuple[str, MethodMap]] = []
        pending = [self._root]
        while pending:
            node = pending.pop()
            if node.methods is not None:
                found.append((node.template, node.methods))
            pending.extend(node.literals.values())
            if node.parameter is not None:
                pending.append(node.parameter)
        return found

    def find(self, uri: str, req: Any = None) -> Found | None:
        """Return the resource, responders, parameters and template of a request, or None."""
        exchange: Exchange = req.scope[SCOPE_KEY]
        node = self._root
        params: dict[str, str] = {}
        for segment in exchange.target.segments:
            literals = node.literals
            following = literals.get(segment) or (
                literals.get(segment.lower()) if literals else None
            )
            if following is None:
                following = node.parameter
                if following is None or not segment:
                    return None
                params[node.name] = segment
            node = following
        if node.methods is None:
            return None
        exchange.route = node.template
        return self, node.methods, params, node.template

    def add_route(self, uri_template: str, resource: object, **kwargs: Any) -> NoReturn:
        """Not supported: routes are added with `add` from the route table."""
        raise NotImplementedError("add routes to twinframe.http.routes")
