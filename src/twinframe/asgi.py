"""The ASGI application for any server: `python -m uvicorn twinframe.asgi:app`.

An error in the settings ends the process with one line and exit code 3, which uvicorn and gunicorn
use for a failed start-up (gunicorn would otherwise restart the workers).
"""

from __future__ import annotations

import os
import sys

from twinframe.errors import ConfigurationError
from twinframe.errors.masking import mask_secrets
from twinframe.service.application import create_app

START_FAILED = 3

os.umask(os.umask(0o077) | 0o077)  # SEC: files of graphs are for this user alone
try:
    app = create_app()
except ConfigurationError as error:
    sys.stderr.write(f"twinframe: {mask_secrets(error.message)}\n")
    raise SystemExit(START_FAILED) from None
