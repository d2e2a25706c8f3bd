"""Reading plans and launches; one file a question."""
