"""The parts of the published contracts. Import the whole ones from `twinframe.testing`."""
