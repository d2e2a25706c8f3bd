"""Helpers of the suite."""
