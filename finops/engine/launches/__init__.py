"""When to start, on which market to run, what a failed call means: decisions about launches."""
