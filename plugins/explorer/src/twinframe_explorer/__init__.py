"""The explorer of twinframe: a page to see a graph, ask it and change it, and who serves it."""
