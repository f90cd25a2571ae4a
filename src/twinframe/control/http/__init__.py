"""The HTTP API of the control plane, `/api/v1`, over the use cases of `control`."""
