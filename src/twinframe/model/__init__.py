"""Domain values without I/O: ids, JSON, patches, etags, pages, values of the query languages."""
