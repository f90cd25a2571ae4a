"""Each hook is documented, has a real user, and stands on the committed page."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tests.house.pages.hooks import render_hooks_page
from tests.plugin_example.twinframe_reach import plugin as reach
from twinframe.hooks import specs
from twinframe.hooks.drivers import SEAMS, load_plugins
from twinframe.hooks.manager import build_manager, list_hooks, register

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", list_hooks())
def test_a_hook_says_what_it_is_for(name: str) -> None:
    assert inspect.getdoc(getattr(specs, name))
    assert f"## {name}\n" in render_hooks_page()


@pytest.mark.parametrize("name", list_hooks())
def test_a_hook_has_a_real_user_among_our_plugins(name: str) -> None:
    manager = build_manager()
    for seam in SEAMS:
        load_plugins(manager, seam)
    # The service's own procedures are there without a plugin; this one is that of the how-to page.
    register(manager, reach, "twinframe-reach")
    users = getattr(manager.hook, name).get_hookimpls()
    assert [user.plugin_name for user in users if user.plugin_name.startswith("twinframe")]


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: seam.noun)
def test_a_seam_asks_for_a_hook_that_exists(seam: object) -> None:
    assert getattr(seam, "hook", None) in list_hooks()


def test_the_committed_page_is_current() -> None:
    page = ROOT / "docs/reference/hooks.md"
    assert page.read_text(encoding="utf-8") == render_hooks_page(), "run: make docs"
