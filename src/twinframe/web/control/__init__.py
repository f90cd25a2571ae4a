"""Responders of the control plane. Not built yet."""
