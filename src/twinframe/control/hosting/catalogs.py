"""Builds the catalog of hosted graphs that an installation has.

PERF: apart from the service, which commands that only look up a graph would import in vain.
"""

from __future__ import annotations

from pathlib import Path

from twinframe.control.hosting.catalog import Catalog
from twinframe.control.hosting.catalog_files import FileCatalog
from twinframe.control.hosting.catalog_records import RecordCatalog
from twinframe.hooks.installation import Installation


def build_catalog(installation: Installation) -> Catalog:
    """Build the catalog, without opening it: in the storage where all machines see it, else in
    files.
    """
    directory = Path(installation.settings.hosting.directory)
    store = installation.build_catalog_store()
    return FileCatalog(directory) if store is None else RecordCatalog(directory, store)
