"""The SPARQL endpoint: checks the query texts of callers before they run, and limits them to one
graph.
"""
