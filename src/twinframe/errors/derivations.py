"""Errors of derived properties."""

from __future__ import annotations

from twinframe.errors.base import InputError, NotFound


class DerivationInvalid(InputError):
    """The definition of a derived property is wrong, or contradicts another one."""

    code = "DerivationInvalid"


class DerivationNotFound(NotFound):
    """No derived property is defined under this id."""

    code = "DerivationNotFound"

    def __init__(self, derivation_id: str) -> None:
        super().__init__(
            f"There is no derivation {derivation_id}. GET /derivations lists those that there are."
        )
        self.derivation_id = derivation_id


class DerivedPropertyReadOnly(InputError):
    """A write sets a property whose value the service derives."""

    code = "DerivedPropertyReadOnly"

    def __init__(self, name: str, derivation_id: str) -> None:
        super().__init__(
            f"The property {name} is derived by {derivation_id}, so only the service writes it. "
            f"Leave it out; to set it yourself, delete the derivation {derivation_id} first."
        )
        self.name = name
        self.derivation_id = derivation_id
