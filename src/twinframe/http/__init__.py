"""HTTP: the guard, the table of routes and their responders, and the mapping of errors."""
