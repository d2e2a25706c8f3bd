"""A market that is not there: launches replayed against a trace."""
