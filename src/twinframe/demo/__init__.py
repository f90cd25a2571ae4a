"""The sample building and the guided first run of `twinframe demo`; no part of the service."""
