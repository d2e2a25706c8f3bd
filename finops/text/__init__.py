"""Text in and out for people and files: CSV cells that no spreadsheet runs, numbers in a stated locale."""
