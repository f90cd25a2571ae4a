"""Responders of the data plane: they parse the request, call a use case of `twinframe.graph` and
write the answer.
"""
