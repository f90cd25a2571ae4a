"""The settings of a Parquet endpoint."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlsplit

from fsspec import available_protocols
from pydantic import Field, field_validator

from twinframe.errors.nearest import find_nearest
from twinframe.settings import Section

LOCAL: Final = ("", "file")
_READ_ONLY: Final = ("http", "https", "data")


class ParquetSettings(Section):
    """A directory, or a prefix of an object store, that takes Parquet files."""

    location: str = Field(
        description="Directory, or address for fsspec, below which the files are written, such as "
        "`/var/lib/twinframe/tables` or `s3://bucket/twins`.",
        min_length=1,
    )
    rows: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=50_000, description="Rows after which files are written."
    )
    seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(
        default=60.0, description="Seconds after which rows are written that wait for more."
    )

    @field_validator("location")
    @classmethod
    def _check_location(cls, value: str) -> str:
        if "://" not in value:
            return value
        url = urlsplit(value)
        known = sorted({*available_protocols(), "file"} - {*_READ_ONLY})
        if url.scheme not in known:
            near = find_nearest(url.scheme, known)
            hint = f"did you mean {near}://?" if near else "such as s3://bucket/folder"
            raise ValueError(
                f"{url.scheme}:// is no kind of storage that can be written to ({hint})"
            )
        if "@" in url.netloc and url.scheme not in ("abfs", "abfss", "adl"):
            raise ValueError(
                "must not have a user or password; the library of the storage finds them, such as "
                "in the environment"
            )
        if url.scheme == "file" and url.netloc not in ("", "localhost"):
            raise ValueError("of a directory has three slashes, such as file:///var/tables")
        return value
