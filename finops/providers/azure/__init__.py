"""Azure: cost exports."""
