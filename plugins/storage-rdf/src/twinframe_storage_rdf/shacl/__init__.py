"""Validates twins against the SHACL shapes of their models, in batches and in a separate
process.
"""
