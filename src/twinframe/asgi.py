"""The ASGI application for any server: `python -m uvicorn twinframe.asgi:app`. It holds no code."""

from twinframe.app import create_app

app = create_app()
