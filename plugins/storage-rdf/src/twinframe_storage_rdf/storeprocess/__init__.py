"""The process that owns an embedded store on disk and serves it to all workers of a service."""
