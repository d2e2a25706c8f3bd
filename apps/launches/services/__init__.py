"""Changing plans and launches; one file a step of their life."""
