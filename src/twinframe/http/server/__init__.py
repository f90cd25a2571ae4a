"""The HTTP/1.1 protocol and the worker: limits, time-outs and connections below the application."""
