"""The published test kit for plugin authors: contracts, factories, a faulty store. Not for service.

A driver's tests inherit `twinframe.testing.storage_contract.GraphStoreContract`.
"""

import pytest

# Failing assertions of the contracts show their operands, as those of a test file do.
pytest.register_assert_rewrite("twinframe.testing.contracts", "twinframe.testing.storage_contract")
