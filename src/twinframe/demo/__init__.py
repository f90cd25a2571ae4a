"""The sample building and the guided tour of `twinframe demo`; no part of the service."""
