"""`twinframe check`: examines an installation and reports all findings at once, repairing
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from twinframe.cli.console import config_option, json_option, write_json
from twinframe.errors import ConfigurationError
from twinframe.hooks.installation import load_installation
from twinframe.runtime.diagnosis.findings import Finding, Severity
from twinframe.service.examination import examine, examine_settings, find_worst


@click.command()
@config_option
@json_option
@click.option("--verbose", is_flag=True, help="Also print what is in order.")
@click.option("--offline", is_flag=True, help="Contact no other server.")
@click.option("--strict", is_flag=True, help="Fail the check on warnings.")
def check(
    config: Path | None, *, as_json: bool, verbose: bool, offline: bool, strict: bool
) -> None:
    """Check an installation, and say what is wrong and how to fix it.

    It checks settings, plugins, the store, versions, directories, disks, limits, the clock,
    secrets, certificates, and the servers that the installation needs. It opens the store, which
    creates or migrates it. Exit code 1: something must be fixed; with --strict also after warnings.
    """
    try:
        installation = load_installation(config)
        findings = list(examine(installation, config, network=not offline))
    except ConfigurationError as error:
        findings = list(examine_settings(error))
    if as_json:
        write_json(build_document(findings))
    else:
        write_findings(findings, verbose=verbose)
    worst = find_worst(findings)
    if worst is Severity.ERROR or (strict and worst is Severity.WARNING):
        raise SystemExit(1)


def build_document(findings: Sequence[Finding]) -> dict[str, object]:
    """Build the JSON form of the findings, with their number by severity."""
    counts = Counter(finding.severity for finding in findings)
    return {
        "errors": counts[Severity.ERROR],
        "warnings": counts[Severity.WARNING],
        "findings": [asdict(finding) for finding in findings],
    }


def write_findings(findings: Sequence[Finding], *, verbose: bool) -> None:
    """Print each finding with its remedy below it, then a summary."""
    ranks = list(Severity)
    for finding in sorted(findings, key=lambda one: ranks.index(one.severity)):
        if finding.severity is Severity.FINE and not verbose:
            continue
        label = "twinframe" if finding.severity is Severity.ERROR else finding.severity.value
        click.echo(f"{label}: {finding.message}", err=finding.severity is not Severity.FINE)
        if finding.fix:
            click.echo(f"    {finding.fix}", err=True)
    counts = Counter(finding.severity for finding in findings)
    if counts[Severity.ERROR]:
        return
    warnings = counts[Severity.WARNING]
    also = f"; {warnings} warning{'s' if warnings > 1 else ''}" if warnings else ""
    start = next((one.message for one in findings if one.check == "start"), "")
    click.echo(f"Everything is in order{also}. {start}".rstrip())
