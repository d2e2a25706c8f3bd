"""FOCUS files in: versions 1.0 to 1.4, of any provider."""
