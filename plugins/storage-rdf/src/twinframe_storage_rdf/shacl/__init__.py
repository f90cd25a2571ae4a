"""Validates twins against the SHACL shapes of their models, in a separate process."""
