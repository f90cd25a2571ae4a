"""The settings section of import and delete jobs."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from twinframe.settings.section import Bytes, Count, Seconds, Section

_DAY: Final = 24 * 3600.0


class JobsSettings(Section):
    """Import and delete jobs: from and to where, how much, and for how long they are kept."""

    directories: tuple[str, ...] = Field(
        default=(),
        description="Folders that jobs may read and write with `file:` URLs. Empty: none. "
        "`{graph}` stands for the id of a hosted graph; hosted graphs use only "
        "folders with it.",
    )
    hosts: tuple[str, ...] = Field(
        default=(),
        description="Hosts that jobs may read and write with `https:`, such as `data.example` or "
        "`data.example:8443`; with the prefix `http://` also with `http:`.",
    )
    buckets: tuple[str, ...] = Field(
        default=(),
        description="Locations in object stores that jobs may use, such as `s3://bucket/folder`, "
        "`gs://bucket` or `https://account.blob.core.windows.net/container`; `{graph}` as in "
        "`Directories`.",
    )
    private_addresses: bool = Field(
        default=False,
        description="Let the allowed hosts have addresses of private networks and this machine.",
    )
    max_unfinished: Count = Field(
        default=1,
        description="Jobs that may be unfinished at once, as with the vendor; more is 429. One "
        "runs at a time.",
    )
    max_kept: Count = Field(
        default=1000,
        description="Most jobs of a kind that are kept. For a new one beyond that, the job that "
        "ended longest ago is deleted with its log.",
    )
    keep_seconds: Seconds = Field(
        default=30 * _DAY, description="Seconds after which a finished job is deleted."
    )
    max_upload_bytes: Annotated[int, Field(ge=0)] = Field(
        default=1024 * 1024 * 1024,
        description="Bytes of all files that were uploaded to a graph and are not imported yet; "
        "they are kept in its store, where they take a third more. 0: no file can be uploaded.",
    )
    keep_upload_seconds: Seconds = Field(
        default=_DAY,
        description="Seconds after which an upload is deleted that nobody goes on with, and no job "
        "reads.",
    )
    max_errors: Count = Field(
        default=10_000, description="Refused lines after which an import gives up."
    )
    max_line_bytes: Bytes = Field(
        default=8 * 1024 * 1024, description="Longest line of a file that is imported."
    )
    max_model_section_bytes: Bytes = Field(
        default=64 * 1024 * 1024, description="Largest section of models; it is held in memory."
    )
    chunk_rows: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=500, description="Most twins or relationships that are written at once."
    )
    pause: Annotated[float, Field(ge=0)] = Field(
        default=0.002,
        description="Most seconds between two writes of a job, in which others can write. 0: a job "
        "writes as much and as fast as it can.",
    )
    events: bool = Field(
        default=True,
        description="Send events of the twins, relationships and models that a job or "
        "`twinframe import` writes or deletes.",
    )
    read_timeout: Seconds = Field(
        default=60.0, description="Seconds without progress of a source after which a job fails."
    )
    lease_seconds: Seconds = Field(
        default=10.0,
        description="Seconds after which another worker continues the background tasks of a "
        "worker that died.",
    )
    look_seconds: Seconds = Field(
        default=1.0, description="Seconds between two searches for background tasks."
    )

    @field_validator("hosts")
    @classmethod
    def _check_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for host in value:
            parts = urlsplit(host if "://" in host else f"https://{host}")
            plain = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
            if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
                raise ValueError(
                    f"{host!r} must be a host, such as data.example or data.example:8443, with "
                    "http:// in front when it has no TLS"
                )
        return value

    @field_validator("buckets")
    @classmethod
    def _check_buckets(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for bucket in value:
            parts = urlsplit(bucket)
            if not parts.scheme or not parts.netloc or parts.query or parts.fragment:
                raise ValueError(f"{bucket!r} must be a place such as s3://bucket/folder")
        return value

    @field_validator("directories")
    @classmethod
    def _check_directories(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for directory in value:
            if not directory.startswith("/"):
                raise ValueError(f"{directory!r} must be an absolute path")
        return value
