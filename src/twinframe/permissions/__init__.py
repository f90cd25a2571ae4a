"""The permission seam: what a provider answers and the grammar of permissions. No provider."""
