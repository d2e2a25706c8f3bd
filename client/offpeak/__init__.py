"""The command-line client of an Offpeak server: the standard library and the server's pricing engine."""

__version__ = "0.1.0"
