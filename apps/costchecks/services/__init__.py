"""Making cost checks, and the policies they are held against."""

from apps.costchecks.services.checks import CheckConflictError, Question, cost_check_make
from apps.costchecks.services.policies import check_policy_add, check_policy_remove

__all__ = ["CheckConflictError", "Question", "check_policy_add", "check_policy_remove", "cost_check_make"]
