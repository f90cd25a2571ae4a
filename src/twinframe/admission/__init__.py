"""Limits the rate of each caller's operations, by kind of operation and over all workers."""
