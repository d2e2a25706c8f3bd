"""Settings; the environment is read in this package and nowhere else."""
