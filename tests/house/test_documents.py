"""The documents: links lead somewhere, every page is reachable, nothing of one machine is named."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.house.generated import list_stale
from tests.waiting import run_program

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "plugins").glob("*/README.md")),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-") for text in headings}


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if target.startswith(("http://", "https://", "mailto:")):
                continue
            name, _, anchor = target.partition("#")
            goal = (page.parent / name).resolve() if name else page
            if not goal.exists() or (
                anchor and goal.suffix == ".md" and anchor not in _anchors(goal)
            ):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_every_page_of_the_docs_is_reachable_from_the_readme() -> None:
    seen: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        todo += [
            (page.parent / target.partition("#")[0]).resolve()
            for target in LINK.findall(page.read_text(encoding="utf-8"))
            if "://" not in target
        ]
    missing = [
        str(p.relative_to(ROOT)) for p in PAGES if p.parts[-2] != "decisions" and p not in seen
    ]
    assert missing == []


def test_the_changes_that_recipes_show_apply() -> None:
    failed = []
    for page in PAGES:
        for diff in re.findall(
            r"^```diff\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
        ):
            command = ["git", "apply", "--check", "--whitespace=nowarn", "-"]
            done = run_program(command, cwd=ROOT, input=diff, capture_output=True, text=True)
            if done.returncode:
                failed.append(f"{page.relative_to(ROOT)}: {done.stderr}")
    # Adapt the recipe to the code: make its change by hand, and copy it from `git diff -U1`.
    assert failed == []


def test_every_decision_has_one_form_and_its_line_in_the_index() -> None:
    decisions = ROOT / "docs/decisions"
    index = (decisions / "README.md").read_text(encoding="utf-8")
    odd = []
    for page in sorted(decisions.glob("[0-9]*.md")):
        headings = re.findall(r"^#+ .*$", page.read_text(encoding="utf-8"), re.MULTILINE)
        title = headings[0].removeprefix("# ")
        if (
            headings[1:] != ["## Context", "## Decision", "## Consequences"]
            or not title.startswith(f"{page.name[:4]} ")
            or f"[{title}]({page.name})" not in index
        ):
            odd.append(page.name)
    assert odd == []


def test_what_the_architecture_page_names_exists() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = re.findall(
        r"`((?:src|plugins)/[^`]+)`(?: \((`[^`]+`(?:, (?:then )?`[^`]+`)*)\))?", page
    )
    assert len(named) > 20
    missing = []
    for path, names in named:
        file = ROOT / path
        words = re.findall(r"\w+", names.replace("then ", ""))
        if not file.exists() or not all(
            re.search(rf"^ *(async )?(def|class) {word}\b", file.read_text("utf-8"), re.MULTILINE)
            for word in words
        ):
            missing.append(f"{path} {names}")
    assert missing == []


def test_the_layers_of_the_architecture_page_are_those_of_the_contract() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    block = re.search(r"```text\nlayers\n(.*?)```", page, re.DOTALL)
    assert block is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(
        each for each in project["tool"]["importlinter"]["contracts"] if each["type"] == "layers"
    )
    shown = [set(line.split(", ")) for line in block[1].splitlines()]
    assert shown == [set(re.split(r" *[:|] *", layer)) for layer in contract["layers"]]


def test_every_hook_setting_and_error_has_its_place_in_the_reference() -> None:
    reference = ROOT / "docs/reference"
    assert {"settings.md", "hooks.md", "routes.md", "errors.md", "cypher.md"} <= {
        page.name for page in reference.glob("*.md")
    }


def test_the_settings_page_names_keys_as_users_write_them() -> None:
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    wrong = []
    for section in page.split("\n## ")[1:]:
        keys = {
            key.casefold(): key
            for key in re.findall(r"^\| `(?:\w+__)*(\w+)`", section, re.MULTILINE)
        }
        text = re.sub(r"^\|.*$", "", section, flags=re.MULTILINE)
        wrong += [
            f"{section.splitlines()[0]}: {word}"
            for word in re.findall(r"`(\w+)`", text)
            if keys.get(word.replace("_", "").casefold(), word) != word
        ]
    assert wrong == []


def test_the_generated_pages_are_current() -> None:
    assert list_stale() == []
