"""Use cases of the control plane. Not built yet."""
