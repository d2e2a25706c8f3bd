"""From facts and documents to what the templates write: sentences, rows, figures."""
