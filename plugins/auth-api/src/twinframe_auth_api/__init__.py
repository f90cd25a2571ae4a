"""Permissions from an HTTP service for twinframe."""
