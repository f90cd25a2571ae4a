"""The settings section of requests that write many documents."""

from __future__ import annotations

from pydantic import Field

from twinframe.settings.section import Bytes, Count, Section


class BulkSettings(Section):
    """Limits of POST /digitaltwins, POST /relationships and POST /$transaction."""

    max_items: Count = Field(
        default=1000, description="Most twins or relationships of one bulk request."
    )
    group_items: Count = Field(
        default=200,
        description="Items of a bulk request that are committed together; between such groups "
        "other writers get their turn. A group also ends with 4 MiB of documents.",
    )
    max_operations: Count = Field(
        default=1000, description="Most operations of one POST /$transaction."
    )
    max_transaction_bytes: Bytes = Field(
        default=16 * 1024 * 1024,
        description="Most bytes of documents that one POST /$transaction stores; all other "
        "writers wait for it.",
    )
    max_body_bytes: Bytes = Field(
        default=16 * 1024 * 1024,
        description="Largest body of these requests; more is 413, as is more than "
        "Server__MaxBodyBytes.",
    )
