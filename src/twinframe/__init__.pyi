from typing import Final

from pluggy import HookimplMarker

from twinframe.library import AsyncLocalGraph as AsyncLocalGraph
from twinframe.library import AsyncTransaction as AsyncTransaction
from twinframe.library import LocalGraph as LocalGraph
from twinframe.library import Result as Result
from twinframe.library import Transaction as Transaction
from twinframe.library import open as open  # noqa: A004  (the name that users call)
from twinframe.library import open_async as open_async

__version__: Final[str]
hookimpl: Final[HookimplMarker]
