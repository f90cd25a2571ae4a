"""The HTTP edge of the control plane, `/api/v1`. What is allowed and done is told in `control`."""
