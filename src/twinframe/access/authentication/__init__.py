"""Authenticates and authorizes callers: tokens, API keys, and the gate in front of every use
case.
"""
