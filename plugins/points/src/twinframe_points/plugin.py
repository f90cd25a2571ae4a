"""The entry point of this distribution: the hooks by which the service keeps points."""

from __future__ import annotations

from pathlib import Path

from twinframe import hookimpl
from twinframe.settings import Section
from twinframe.storage.points import PointStore
from twinframe_points.keeper import Keeper
from twinframe_points.settings import PointsSettings
from twinframe_points.store import FilePointStore


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Points`."""
    return PointsSettings


@hookimpl
def twinframe_point_store(settings: Section, directory: Path) -> PointStore:
    """The points of the graph whose durable files are in `directory`."""
    if not isinstance(settings, PointsSettings):
        raise TypeError(f"the settings are of {type(settings).__name__}, not PointsSettings")
    keeper = Keeper(directory, settings.model_dump_json())
    return FilePointStore(directory, settings, keeper=keeper)
