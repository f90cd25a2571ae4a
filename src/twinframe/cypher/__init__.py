"""Query text of either language to the logical algebra. It knows no storage and runs nothing."""
