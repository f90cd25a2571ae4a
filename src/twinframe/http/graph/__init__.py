"""Responders of the data plane: they parse the request, call a use case and write the answer."""
