"""The use cases of the control plane."""
