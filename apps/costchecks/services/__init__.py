"""Making cost checks."""

from apps.costchecks.services.checks import CheckConflictError, Question, cost_check_make

__all__ = ["CheckConflictError", "Question", "cost_check_make"]
