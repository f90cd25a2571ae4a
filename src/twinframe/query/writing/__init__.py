"""Statements that write: their steps, the port they write through, and how they run."""
