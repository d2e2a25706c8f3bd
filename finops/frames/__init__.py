"""The shared vocabulary: one typed table a file with its grain, units and invariants."""
