"""Forms of launches."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation
from apps.dashboard.forms import plain_limits
from apps.launches.models import MAX_PRIORITY, Preemption
from apps.launches.selectors.plans import target_list
from apps.recommendations.services.stated import MAX_REASON
from apps.workloads.selectors import workload_list


class PlanForm(forms.Form):
    """A saved workload and how it is launched."""

    workload = forms.ChoiceField(label=_("Workload"))
    target = forms.ChoiceField(label=_("Target"))
    priority = forms.IntegerField(
        label=_("Priority"), min_value=0, max_value=MAX_PRIORITY, initial=0, help_text=_("0 to 1000.")
    )
    preemption = forms.ChoiceField(label=_("When there is no room"), choices=Preemption.choices)
    start_minutes = forms.IntegerField(
        label=_("May start late by, minutes"), min_value=1, max_value=10_080, initial=60,
        help_text=_("Later it is missed, not run."),
    )  # fmt: skip
    budget = forms.DecimalField(
        label=_("Budget of one turn"), required=False, min_value=0, max_digits=18, decimal_places=6,
        help_text=_("In the currency of its prices."),
    )  # fmt: skip
    checkpoint_location = forms.CharField(
        label=_("Checkpoints"), required=False, max_length=1000, help_text=_("s3://bucket/folder")
    )
    checkpoint_marker = forms.CharField(
        label=_("Marker"),
        required=False,
        max_length=200,
        help_text=_("A checkpoint counts once it is there."),
    )
    user_data = forms.CharField(
        label=_("Start script"), required=False, max_length=16_000, widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("User data of the machine; {{launch_url}} and {{launch_token}} are filled in."),
    )  # fmt: skip
    reason = forms.CharField(label=_("Reason"), required=False, max_length=MAX_REASON)

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(str(one.pk), one.name) for one in workload_list(organisation)]
        places = [(one.name, one.name) for one in target_list(organisation).filter(active=True)]
        self.fields["workload"].choices = names  # type: ignore[attr-defined]
        self.fields["target"].choices = places  # type: ignore[attr-defined]
        self.fields["preemption"].initial = Preemption.NEVER
        plain_limits(self)


class ReasonForm(forms.Form):
    """Why: others will read it."""

    reason = forms.CharField(label=_("Reason"), max_length=MAX_REASON)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)


class HighForm(forms.Form):
    """The amount that was read and is approved."""

    high = forms.DecimalField(label=_("Amount"), min_value=0, max_digits=24, decimal_places=10)
