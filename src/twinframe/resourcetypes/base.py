"""The resource-type seam: what the control plane can offer. It provisions nothing itself.

Now a type is its name and its settings. What brings a resource up, changes it and takes it down
joins this class together with the control plane's reconciler.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from twinframe.errors import ErrorDetail, ValidationFailed
from twinframe.model.values import JsonValue


class ResourceSettings(BaseModel):
    """Base of a type's `settings_json`: known keys are typed and bounded, unknown keys are kept."""

    model_config = ConfigDict(
        frozen=True, extra="allow", strict=True, allow_inf_nan=False, protected_namespaces=()
    )


class ResourceType(ABC):
    """One kind of resource. `name` is its wire name, such as `Platform.Graph`."""

    name: ClassVar[str]
    settings_model: ClassVar[type[ResourceSettings]]

    def parse_settings(self, document: Mapping[str, JsonValue]) -> ResourceSettings:
        """Check a resource's settings. Raises `ValidationFailed` with one entry a wrong key."""
        try:
            return self.settings_model.model_validate(document)
        except ValidationError as error:
            findings = error.errors(include_url=False)
            raise ValidationFailed(
                f"The settings of this {self.name} are not valid.",
                details=tuple(
                    ErrorDetail(
                        "InvalidSetting",
                        f"{'.'.join(str(part) for part in finding['loc'])}: {finding['msg']}.",
                    )
                    for finding in findings
                ),
            ) from error
