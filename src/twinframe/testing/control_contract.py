"""The contract of control stores, as tests to inherit.

A driver's test file has a class `TestMyStore(SharedControlStoreContract)` with a method
`make_opener(self, place: Path)` that returns a function which makes a store, such as `return
functools.partial(MyControlStore, place / "control")`. It needs hypothesis.
"""

from __future__ import annotations

from twinframe.testing.contracts.control_finding import ControlFindingContract
from twinframe.testing.contracts.control_model import ControlModelContract
from twinframe.testing.contracts.control_processes import ControlProcessContract
from twinframe.testing.contracts.control_records import ControlRecordContract
from twinframe.testing.contracts.control_writes import ControlWriteContract


class ControlStoreContract(
    ControlRecordContract, ControlFindingContract, ControlWriteContract, ControlModelContract
):
    """The contract of every store, even one whose records are in one process."""


class SharedControlStoreContract(ControlStoreContract, ControlProcessContract):
    """For stores whose `traits.shared` is true: between processes, and when one is killed."""
