"""What is asked for in the words of the command line and of REST, as a `Wish`."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation, Team, User
from apps.launches.models import LaunchTarget
from apps.launches.selectors.plans import target_list
from apps.launches.services.planning import STARTING, WISHED, Wish
from apps.workloads.selectors import workload_find

# Fields of a workload that a plan takes elsewhere or not at all.
_NOT_HERE = ("at", "repeat", "done_by", "timezone")


def wish_of(
    given: dict[str, Any], *, organisation: Organisation, team: Team | None, owner: User | None,
    target: LaunchTarget | None = None,
) -> Wish:  # fmt: skip
    """A wish from named fields: those of a workload or a saved `workload`, `target`, `attempts` and those of
    `Wish`. Raises ValidationError by field, WorkloadError.
    """
    rest = dict(given)
    place = target or target_named(organisation, str(rest.pop("target", "") or ""))
    named = rest.pop("workload", None)
    workload = workload_find(organisation, str(named)) if named is not None else None
    attempts = rest.pop("attempts", None)
    own = {name: rest.pop(name) for name in WISHED if name in rest}
    job = {name: rest.pop(name) for name in STARTING if name in rest}
    if job.get("max_price") is not None:
        job["max_price"] = format(job["max_price"], "f")
    question = {name: value for name, value in rest.items() if name not in _NOT_HERE}
    if workload is None:
        missing = [name for name in ("hours", "regions", "product") if not question.get(name)]
        if (missing and place.executor in {"aws", "simulated"}) or "hours" in missing:
            raise ValidationError({missing[0]: _("Give this, or name a saved workload.")})
    return Wish(
        target=place,
        workload=workload,
        team=team,
        owner=owner,
        job=job,
        question={} if workload is not None else question,
        retry={} if attempts is None else {"attempts": attempts},
        **own,
    )


def target_named(organisation: Organisation, name: str) -> LaunchTarget:
    """The target of this name; without a name the only one there is. Raises ValidationError."""
    rows = target_list(organisation)
    found = rows.filter(name__iexact=name).first() if name else None
    if found is None and not name and rows.count() == 1:
        found = rows.get()
    if found is None:
        known = ", ".join(rows.values_list("name", flat=True)) or "–"
        raise ValidationError({"target": _("Name the target. Known: %(known)s.") % {"known": known}})
    return found
