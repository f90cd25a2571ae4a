"""The process that owns an embedded store on disk for all workers of a service."""
