"""Pydantic shapes of jobs, for the OpenAPI document only."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from twinframe.http.graph.schemas import ErrorBody, Shape


class NewImportJob(Shape):
    """What to import, and where the log goes."""

    input_blob_uri: str = Field(alias="inputBlobUri", examples=["file:///data/campus.ndjson"])
    output_blob_uri: str = Field(alias="outputBlobUri", examples=["file:///data/campus.log"])


class JobState(Shape):
    """What all jobs tell of themselves."""

    id: str
    created_date_time: str = Field(alias="createdDateTime")
    finished_date_time: str = Field("", alias="finishedDateTime")
    purge_date_time: str = Field(alias="purgeDateTime", description="When it is forgotten.")
    error: ErrorBody | None = Field(None, description="Why it failed.")


class ImportJob(JobState, NewImportJob):
    """A bulk import; the counts are what is stored, and the lines that were refused."""

    status: Literal["notstarted", "running", "failed", "succeeded", "cancelling", "cancelled"]
    last_action_date_time: str = Field(alias="lastActionDateTime")
    models_created: int = Field(alias="modelsCreated")
    twins_created: int = Field(alias="twinsCreated")
    relationships_created: int = Field(alias="relationshipsCreated")
    error_count: int = Field(alias="errorCount")


class DeleteJob(JobState):
    """A bulk deletion of the whole graph; the counts are what is gone."""

    status: Literal["notstarted", "running", "failed", "succeeded"]
    relationships_deleted: int = Field(alias="relationshipsDeleted")
    twins_deleted: int = Field(alias="twinsDeleted")
    models_deleted: int = Field(alias="modelsDeleted")
