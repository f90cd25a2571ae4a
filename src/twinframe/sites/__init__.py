"""The interface of sites: pages that plugins serve beside the API."""
