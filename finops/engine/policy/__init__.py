"""When and where to launch: see docs/algorithms/launch-window.md."""

from finops.engine.policy.config import DEFAULT, Job, PolicyConfig
from finops.engine.policy.decide import Decision, choose, decide, plan_costs

__all__ = ["DEFAULT", "Decision", "Job", "PolicyConfig", "choose", "decide", "plan_costs"]
