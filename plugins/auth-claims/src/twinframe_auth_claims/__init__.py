"""Permissions from token claims for twinframe."""
