"""Loads what holds for every test, of plugins too."""

pytest_plugins = ["tests.session"]
