"""Checks the configured place of the triples for `twinframe check`, without opening a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from twinframe.runtime.diagnosis.directories import check_directory
from twinframe.runtime.diagnosis.endpoints import check_endpoint
from twinframe.runtime.diagnosis.findings import Finding, build_warning
from twinframe.runtime.diagnosis.secrecy import check_secret
from twinframe_storage_rdf.settings import RdfSettings

_SECTION = "Storage__Rdf__"


def list_findings(settings: RdfSettings) -> Iterator[Finding]:
    """Check the directory of an embedded store, or whether the server of a remote one answers."""
    if settings.engine == "sparql":
        yield from _check_server(settings)
    elif settings.engine == "oxigraph" and settings.directory:
        yield from check_directory(f"{_SECTION}Directory", Path(settings.directory))
    else:
        yield build_warning(
            "durability",
            f"{_SECTION}Engine={settings.engine} keeps graphs in memory only: all end with it.",
            f"Set {_SECTION}Engine=oxigraph and {_SECTION}Directory, unless that is what you want.",
        )


def _check_server(settings: RdfSettings) -> Iterator[Finding]:
    for name, url in (("QueryUrl", settings.query_url), ("UpdateUrl", settings.update_url)):
        if url:
            yield from check_endpoint(
                _SECTION + name, url, ca_file=settings.ca_file, timeout=settings.connect_timeout
            )
    yield from check_secret(f"{_SECTION}Password", settings.password.get_secret_value())
