"""The published test kit: a service for tests of clients, and contracts for plugin authors.

A driver's tests inherit `twinframe.testing.storage_contract.GraphStoreContract` and, where it keeps
control records, `twinframe.testing.control_contract.SharedControlStoreContract`; a permission
provider's `twinframe.testing.permission_contract.PermissionProviderContract`; those of a query
engine `twinframe.testing.query_contract.QueryEngineContract`. Tests of code that uses a graph or a
service have the fixtures of `twinframe.pytest_plugin`.
"""

import importlib.util

for _name in ("pytest", "hypothesis", "trustme"):
    if importlib.util.find_spec(_name) is None:
        raise ModuleNotFoundError(
            f"twinframe.testing needs {_name}, which is not installed: "
            "pip install 'twinframe[testing]'.",
            name=_name,
        )

import pytest  # noqa: E402  (what to install is said first)

# Failing assertions of the contracts show their operands, as those of a test file do.
pytest.register_assert_rewrite(
    "twinframe.testing.contracts",
    "twinframe.testing.control_contract",
    "twinframe.testing.permission_contract",
    "twinframe.testing.query_contract",
    "twinframe.testing.query_law",
    "twinframe.testing.storage_contract",
)
