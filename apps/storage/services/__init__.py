"""Storing what was listed and read."""
