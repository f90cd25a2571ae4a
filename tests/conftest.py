"""What holds for every test of this tree."""

from __future__ import annotations

from hypothesis import settings

# NOTE: no test measures time: an example may take long on a busy machine.
settings.register_profile("untimed", deadline=None)
# What `make reliability` asks of laws that do not say themselves how often they are tried.
settings.register_profile("thorough", deadline=None, max_examples=6500)
settings.load_profile("untimed")
