"""What holds for every test of this tree."""

from __future__ import annotations

from hypothesis import settings

# NOTE: no test measures time: an example may take long on a busy machine.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
