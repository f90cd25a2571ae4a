"""The hook specs of all seams, the strict plugin manager and loader. It implements no seam."""
