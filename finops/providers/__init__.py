"""Where data comes from: one folder a provider, ending in the shared frames."""
