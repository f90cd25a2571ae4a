"""Use cases of queries: plans, limits, pages, neighbourhoods, overviews."""
