"""The source seam: what a source of messages promises."""
