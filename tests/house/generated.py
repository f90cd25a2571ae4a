"""Writes the generated reference pages, or checks that the committed ones are current.

`python -m tests.house.generated --write` or `--check`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.scale.paper import render_page
from tests.e2e.sdk_operations import render_operations_page
from tests.house.pages.commands import render_commands_page
from tests.house.pages.cypher import render_cypher_page
from tests.house.pages.hooks import render_hooks_page, render_settings_page
from tests.house.pages.http import (
    render_control_routes_page,
    render_errors_page,
    render_routes_page,
)
from tests.house.pages.mcp import render_tools_page
from tests.house.pages.prices import render_prices_page
from tests.house.pages.roles import render_roles_page
from tests.house.pages.states import render_states_page
from twinframe.control.billing.offers import build_offers
from twinframe.hooks.installation import load_installation
from twinframe.query.cypher.functions import FUNCTIONS as KNOWN
from twinframe.query.evaluate.calls import SPECIAL
from twinframe.query.evaluate.functions import FUNCTIONS as COMPUTED

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
SCALE = REFERENCE.parent / "scale.md"


def _render_cypher_page() -> str:
    aggregates = {function.name for function in KNOWN if function.aggregate is not None}
    return render_cypher_page({*COMPUTED, *SPECIAL, *aggregates, "exists"})


def _render_prices_page() -> str:
    types = list(load_installation(environ={}).build_resource_types())
    return render_prices_page(build_offers(types), sorted(each.name for each in types))


def _render_scale_page() -> str:
    return render_page(SCALE.read_text(encoding="utf-8"))


PAGES: dict[str, Callable[[], str]] = {
    "../scale.md": _render_scale_page,
    "commands.md": render_commands_page,
    "control-routes.md": render_control_routes_page,
    "cypher.md": _render_cypher_page,
    "errors.md": render_errors_page,
    "hooks.md": render_hooks_page,
    "mcp-tools.md": render_tools_page,
    "prices.md": _render_prices_page,
    "roles.md": render_roles_page,
    "routes.md": render_routes_page,
    "resource-states.md": render_states_page,
    "sdk-operations.md": render_operations_page,
    "settings.md": render_settings_page,
}


def list_stale() -> list[str]:
    """Names of the pages whose committed text is not what the code says."""
    return [
        name
        for name, render in PAGES.items()
        if not (REFERENCE / name).exists()
        or (REFERENCE / name).read_text(encoding="utf-8") != render()
    ]


def main() -> int:
    """Exit code 1 when a page is stale and was not written."""
    stale = list_stale()
    if "--write" in sys.argv:
        for name in stale:
            (REFERENCE / name).write_text(PAGES[name](), encoding="utf-8")
            print(f"wrote docs/reference/{name}")
        return 0
    for name in stale:
        print(f"docs/reference/{name} is not what the code says: run make docs", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
