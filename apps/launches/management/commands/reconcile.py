"""`reconcile`: compare what should run with what runs, now; beat does it every half minute."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apps.accounts.models import Organisation
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.selectors.limits import limits_document
from apps.launches.services.clock import database_now, launches_tick
from apps.launches.services.interruptions import notices_take
from apps.launches.services.reconciling import reconcile_all


class Command(LaunchVerb):
    """What was done, and what is left."""

    help = "Settle open calls, see machines end, end orphans past their expiry, report drift."

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"done", "notices", "strays"}`; `done` counts by what was done, over all targets."""
        now = database_now()
        turned = launches_tick(now=now)
        notices = notices_take(now=now)
        done = {name: count for name, count in sorted(reconcile_all(now=now).items()) if count}
        return {
            "done": {**done, **{name: count for name, count in turned.items() if count}},
            "notices": notices,
            "strays": limits_document(organisation, now)["strays"],
        }

    def show(self, document: dict[str, Any]) -> None:
        """A line a count."""
        for name, count in document["done"].items():
            self.stdout.write(f"{count:>6}  {name}")
        for one in document["strays"]:
            self.stdout.write(f"        {one['machine']} {one['region']} {one['type']} {one['launched_at']}")
