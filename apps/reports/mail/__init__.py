"""A report as a mail: sentences, chart, HTML, plain text, attachments. Reads nothing, sends nothing."""
