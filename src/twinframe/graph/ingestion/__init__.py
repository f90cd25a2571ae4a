"""Ingestion: messages of sources become points and properties of twins, as mappings say."""
