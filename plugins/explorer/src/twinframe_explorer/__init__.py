"""The explorer of twinframe: a web page for viewing, querying and changing a graph, and its
site.
"""
