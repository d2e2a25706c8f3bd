"""PostgreSQL and Valkey from wheels, for one machine with nothing installed; see docs/operator.md."""
