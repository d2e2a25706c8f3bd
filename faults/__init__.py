"""Faults made on purpose against the running product: `make faults`, `python -m faults`."""
