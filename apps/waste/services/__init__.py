"""What is written and answered about waste."""
