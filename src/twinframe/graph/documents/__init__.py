"""Twins and relationships as stored documents: from the request's body to the bytes kept."""
