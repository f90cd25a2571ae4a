"""The relational layer: plans of the algebra become SELECTs, which a dialect writes as text."""
