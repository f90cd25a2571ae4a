"""Workspaces: what the people of a graph keep beside it for the pages that show it."""
