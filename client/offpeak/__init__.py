"""The command-line client of an Offpeak server: the standard library and nothing else."""
