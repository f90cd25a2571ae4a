"""The SPARQL endpoint: checks callers' query texts and limits them to one graph."""
