"""The hook specifications of all plugin seams, and the strict plugin manager and loader."""
