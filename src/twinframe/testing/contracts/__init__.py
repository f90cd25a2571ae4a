"""The parts of the published contracts; import the complete ones from `twinframe.testing`."""
