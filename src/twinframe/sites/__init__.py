"""The site seam: pages that plugins serve beside the API. It serves none itself."""
