"""Authenticates callers by tokens and API keys."""
