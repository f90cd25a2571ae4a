"""How fast a caller may go on: rates by kind of operation, over all workers. It knows no caller."""
