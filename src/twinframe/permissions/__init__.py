"""The permission seam: the interface of permission providers and the grammar of permissions."""
