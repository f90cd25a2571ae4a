"""Checks of an installation's machine: directories, endpoints, secrets, clock and limits."""
