"""The form of a rule that buys help for a queue of own machines."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation
from apps.accounts.selectors import team_list
from apps.catalog.models import PoolUse
from apps.dashboard.forms import NamesField, plain_limits
from apps.launches.models import Executor, LaunchBurst
from apps.launches.selectors.plans import target_list
from apps.launches.selectors.pools import pool_list
from apps.launches.services.bursts import MOST, MOST_HOURS

SELLS = (Executor.AWS, Executor.KUBERNETES, Executor.SIMULATED)
# What a helper is and runs; the rest says when there is one.
JOB = ("types", "regions", "product", "min_vcpu", "min_memory_gib", "gpu", "gpus", "discount_pct", "image",
       "command", "user_data")  # fmt: skip


class BurstForm(forms.Form):
    """A rule; a name that is there already is changed."""

    name = forms.CharField(label=_("Name"), max_length=80)
    pool = forms.ChoiceField(label=_("Queue"), help_text=_("A pool of own servers or idle devices."))
    target = forms.ChoiceField(label=_("Help from"), help_text=_("Where machines are bought on demand."))
    team = forms.ChoiceField(label=_("Team"), required=False)
    start = forms.FloatField(
        label=_("Help above, hours"), min_value=0, max_value=MOST_HOURS,
        help_text=_("Work that waits, over the machines that take it."),
    )  # fmt: skip
    stop = forms.FloatField(
        label=_("Help ends at, hours"), min_value=0, max_value=MOST_HOURS,
        help_text=_("At most the hours above which it begins."),
    )  # fmt: skip
    most = forms.IntegerField(label=_("Machines at most"), min_value=1, max_value=MOST)
    hours = forms.FloatField(
        label=_("Hours of a machine"), min_value=0.01, max_value=720, help_text=_("It lives so long at most.")
    )
    types = NamesField(label=_("Instance types"), required=False, help_text=_("Or minimum sizes."))
    regions = NamesField(label=_("Regions allowed"), required=False, help_text=_("Separated by commas."))
    product = forms.CharField(
        label=_("Product"), required=False, max_length=60, help_text=_("For example Linux/UNIX.")
    )
    min_vcpu = forms.IntegerField(label=_("At least vCPU"), required=False, min_value=1, max_value=100_000)
    min_memory_gib = forms.FloatField(
        label=_("At least memory, GiB"), required=False, min_value=0.1, max_value=1_000_000
    )
    gpu = forms.CharField(label=_("GPU"), required=False, max_length=60, help_text=_("For example V100."))
    gpus = forms.IntegerField(label=_("GPUs a machine"), required=False, min_value=1, max_value=10_000)
    discount_pct = forms.FloatField(
        label=_("Negotiated discount, %"), required=False, min_value=0, max_value=100
    )
    image = forms.CharField(label=_("Image"), required=False, max_length=500)
    command = forms.CharField(label=_("Command"), required=False, max_length=4000)
    user_data = forms.CharField(
        label=_("Start script"), required=False, max_length=16_000, strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false"}),
        help_text=_("User data of the machine: it must take work of the queue."),
    )  # fmt: skip
    active = forms.BooleanField(label=_("Buys help"), required=False, initial=True)
    sure = forms.BooleanField(label=_("Yes, change it"))

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pools = pool_list(organisation).filter(kind__in=[PoolUse.OWN, PoolUse.DEVICE])
        places = target_list(organisation).filter(executor__in=SELLS)
        teams = [(one.slug, one.name) for one in team_list(organisation)]
        self.fields["pool"].choices = [(one.name, one.name) for one in pools]  # type: ignore[attr-defined]
        self.fields["target"].choices = [(one.name, one.name) for one in places]  # type: ignore[attr-defined]
        self.fields["team"].choices = [("", _("No team")), *teams]  # type: ignore[attr-defined]
        plain_limits(self)

    def values(self) -> dict[str, Any]:
        """What `burst_save` takes; pool, target and team by their names."""
        given = self.cleaned_data
        job = {name: given[name] for name in JOB if given[name] not in (None, "", [])}
        rest = {name: value for name, value in given.items() if name not in JOB and name != "sure"}
        return {**rest, "job": job}


def burst_initial(row: LaunchBurst) -> dict[str, Any]:
    """A rule as its form shows it."""
    names = {name: ", ".join(row.job.get(name, [])) for name in ("types", "regions")}
    plain = {name: getattr(row, name) for name in ("name", "start", "stop", "most", "hours", "active")}
    return {
        **row.job, **names, **plain, "pool": row.pool.name, "target": row.target.name,
        "team": row.team.slug if row.team else "",
    }  # fmt: skip
