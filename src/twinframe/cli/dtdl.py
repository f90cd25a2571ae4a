"""`twinframe dtdl`: checks, shows and compares models without settings or a store."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from glob import glob
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from twinframe.cli.console import CommandGroup, json_option, write_json
from twinframe.cli.tables import write_table
from twinframe.dtdl import (
    Component,
    Content,
    Effect,
    Interface,
    ModelFinding,
    ModelSet,
    ModelText,
    ParserLimits,
    Property,
    Relationship,
    Resolver,
    Telemetry,
    compare_models,
    parse_model_texts,
    read_model_files,
)
from twinframe.dtdl.values import render_type
from twinframe.errors import ModelParsingFailed, ModelVersionNotSupported

_STDIN = "-"
_MAGIC = frozenset("*?[")
_FILES = click.argument("files", nargs=-1, required=True)
_BASE = click.option(
    "--base",
    "bases",
    multiple=True,
    help="Models that the files refer to. They are read when needed, and not checked.",
)
_LIMITS = click.option(
    "--limits",
    "acceptable_limits",
    multiple=True,
    help="A limit context to accept, such as dtmi:dtdl:limits:onvif (all versions of it).",
)
_VERSION = click.option(
    "--max-version",
    type=click.IntRange(2, 4),
    default=4,
    show_default=True,
    help="The latest DTDL version to accept.",
)
_UNDEFINED = click.option(
    "--allow-undefined-extensions",
    is_flag=True,
    help="Accept unknown contexts, and the terms that they may define.",
)


@click.group(cls=CommandGroup)
def dtdl() -> None:
    """Check, show and compare models. Works alone: no service, no settings.

    FILES are files, folders (every *.json below), globs, or - for standard input.
    """


@dtdl.command()
@_FILES
@_BASE
@_LIMITS
@_VERSION
@_UNDEFINED
@json_option
def validate(
    files: tuple[str, ...],
    bases: tuple[str, ...],
    acceptable_limits: tuple[str, ...],
    max_version: int,
    *,
    allow_undefined_extensions: bool,
    as_json: bool,
) -> None:
    """Report everything that is wrong with models, with file and line.

    Exit code 0: nothing is wrong. 1: something is wrong. 2: a file does not exist.
    """
    limits = ParserLimits(
        acceptable_limits=frozenset(acceptable_limits),
        max_language_version=max_version,
        allow_undefined_extensions=allow_undefined_extensions,
    )
    texts = _read(files)
    try:
        models = parse_model_texts(texts, resolve=_build_resolver(bases), limits=limits)
    except (ModelParsingFailed, ModelVersionNotSupported) as error:
        findings = [d for d in error.details if isinstance(d, ModelFinding)]
        if as_json:
            write_json({"valid": False, "findings": [_build_finding(f) for f in findings]})
        else:
            for f in findings:
                click.echo(f"{f.source}:{f.line}:{f.column}: {f.code}: {f.reason}")
            _write_count(len(findings), "finding", "in", len(texts), "file")
        raise SystemExit(1) from error
    if as_json:
        write_json({"valid": True, "interfaces": list(models.uploaded)})
    else:
        _write_count(len(models.uploaded), "interface", "valid, in", len(texts), "file")


@dtdl.command()
@_FILES
@_BASE
@click.option("--model", "wanted", multiple=True, help="Show only this DTMI.")
@json_option
def show(
    files: tuple[str, ...], bases: tuple[str, ...], wanted: tuple[str, ...], *, as_json: bool
) -> None:
    """Print interfaces with everything they inherit."""
    models = _parse(files, bases)
    unknown = [identifier for identifier in wanted if identifier not in models.interfaces]
    if unknown:
        raise click.BadParameter(f"no such interface: {', '.join(unknown)}", param_hint="--model")
    interfaces = [models.interfaces[i] for i in wanted or models.uploaded]
    if as_json:
        write_json([_build_interface(interface) for interface in interfaces])
        return
    for interface in interfaces:
        bases_text = f"  extends {', '.join(interface.ancestors)}" if interface.ancestors else ""
        click.echo(f"{interface.id}  (DTDL {interface.language_version}){bases_text}")
        write_table(
            ("name", "kind", "schema", "declared by"),
            [
                (c.name, type(c).__name__, _render_content(c), c.declared_by)
                for c in interface.contents.values()
            ],
        )


@dtdl.command()
@_FILES
@_BASE
@json_option
def tree(files: tuple[str, ...], bases: tuple[str, ...], *, as_json: bool) -> None:
    """Print which interface extends which. An interface with several bases is shown under each.

    With --json: each interface with those that extend it directly.
    """
    interfaces = _parse(files, bases).interfaces
    descendants: dict[str, list[str]] = {identifier: [] for identifier in interfaces}
    for interface in interfaces.values():
        for base in interface.extends:
            descendants.setdefault(base, []).append(interface.id)
    roots = sorted(i for i, interface in interfaces.items() if not interface.extends)
    if as_json:
        write_json({identifier: sorted(found) for identifier, found in sorted(descendants.items())})
        return
    console = Console(file=sys.stdout, soft_wrap=True)
    shown: set[str] = set()
    for root in roots:
        console.print(_grow(Tree(Text(root)), root, descendants, shown))


@dtdl.command()
@click.argument("old")
@click.argument("new")
@_BASE
@json_option
def diff(old: str, new: str, bases: tuple[str, ...], *, as_json: bool) -> None:
    """Report what changed from OLD to NEW, and which changes break existing twins.

    Both are files, folders or globs. Exit code 1: a change breaks existing twins.
    """
    changes = compare_models(_parse((old,), bases), _parse((new,), bases))
    if as_json:
        write_json(changes)
    else:
        for change in changes:
            where = f"{change.interface} {change.content}".strip()
            click.echo(f"{change.effect.value:<10}  {where}: {change.message}")
        if not changes:
            click.echo("Nothing changed for twins.")
    if any(change.effect is Effect.BREAKING for change in changes):
        raise SystemExit(1)


# --- reading ------------------------------------------------------------------------------------


def _read(names: Iterable[str]) -> list[ModelText]:
    texts: list[ModelText] = []
    paths: list[Path] = []
    for name in names:
        if name == _STDIN:
            texts.append(ModelText("<stdin>", sys.stdin.read()))
            continue
        found = sorted(glob(name, recursive=True)) if set(name) & _MAGIC else [name]  # noqa: PTH207
        if not found or not Path(found[0]).exists():
            raise click.BadParameter(f"there is no {name}", param_hint="FILES")
        paths += map(Path, found)
    return texts + read_model_files(paths)


def _parse(names: tuple[str, ...], bases: tuple[str, ...]) -> ModelSet:
    """NOTE: for reading models everything is accepted: undefined contexts, all limits."""
    return parse_model_texts(
        _read(names),
        resolve=_build_resolver(bases),
        limits=ParserLimits(allow_undefined_extensions=True, accept_all_limits=True),
    )


def _build_resolver(bases: tuple[str, ...]) -> Resolver | None:
    if not bases:
        return None
    documents: dict[str, object] = {}
    for text in _read(bases):
        documents |= text.index_models()
    return lambda wanted: [documents[i] for i in sorted(wanted) if i in documents]


# --- writing ------------------------------------------------------------------------------------


def _write_count(count: int, noun: str, words: str, files: int, last: str) -> None:
    plural = "" if count == 1 else "s"
    click.echo(
        f"{count} {noun}{plural} {words} {files} {last}{'' if files == 1 else 's'}", err=True
    )


def _build_finding(finding: ModelFinding) -> dict[str, object]:
    return {
        "code": finding.code,
        "message": finding.reason,
        "file": finding.source,
        "line": finding.line,
        "column": finding.column,
        "pointer": finding.pointer,
        "element": finding.element,
        "property": finding.property,
        "value": finding.value,
    }


def _build_interface(interface: Interface) -> dict[str, object]:
    return {
        "id": interface.id,
        "languageVersion": interface.language_version,
        "displayName": dict(interface.display_name),
        "extends": list(interface.extends),
        "ancestors": list(interface.ancestors),
        "contents": [
            {
                "name": content.name,
                "kind": type(content).__name__,
                "schema": _render_content(content),
                "declaredBy": content.declared_by,
                "types": list(content.types),
            }
            for content in interface.contents.values()
        ],
    }


def _render_content(content: Content) -> str:
    match content:
        case Property() | Telemetry():
            unit = f" in {content.unit}" if content.unit else ""
            return f"{render_type(content.schema)}{unit}"
        case Component():
            return content.schema
        case Relationship():
            return content.target or "any twin"
        case _:
            return ""


def _grow(
    branch: Tree, identifier: str, descendants: Mapping[str, list[str]], shown: set[str]
) -> Tree:
    for descendant in sorted(descendants.get(identifier, ())):
        again = descendant in shown and descendants.get(descendant)
        shown.add(descendant)
        leaf = branch.add(Text(f"{descendant} (see above)" if again else descendant))
        if not again:
            _grow(leaf, descendant, descendants, shown)
    return branch
