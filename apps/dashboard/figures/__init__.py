"""Figures for plotly.js as plain dicts: pure functions from frames, colours as token names."""
