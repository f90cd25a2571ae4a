"""The settings section of a resource type that an external product implements, such as
`Resources__Flow`.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, SecretStr, model_validator

from twinframe.settings import Bytes, Seconds, Section, check_named_endpoint


class ProductSettings(Section):
    """Where the product that implements the resources of this type answers."""

    product_url: str = Field(
        default="",
        description="Address of the product. Empty: resources of this type are only registered.",
    )
    bearer_token: SecretStr = Field(
        default=SecretStr(""), description="Token sent to the product; empty sends none."
    )
    timeout_seconds: Seconds = Field(
        default=30.0, description="Seconds for one whole answer. After that the call is repeated."
    )
    max_answer_bytes: Bytes = Field(
        default=64 * 1024, description="Largest answer that is read; more is a failure."
    )
    ca_file: str = Field(
        default="",
        description="PEM file with the certificates to trust instead of those of the system.",
    )
    allow_plain_http: bool = Field(
        default=False,
        description="Allow `http://` to other machines. Use it only in a network of your own.",
    )

    @model_validator(mode="after")
    def _check_address(self) -> Self:
        value = self.product_url
        check_named_endpoint("ProductUrl", value, allow_plain_http=self.allow_plain_http)
        if "?" in value or value.endswith("/"):
            raise ValueError("ProductUrl must be a URL without a query and without a / at its end")
        return self
