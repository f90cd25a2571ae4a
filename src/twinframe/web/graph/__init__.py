"""Responders of the data plane, thin over the use cases of `twinframe.graph`."""
