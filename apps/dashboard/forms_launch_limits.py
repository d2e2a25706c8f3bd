"""Forms of where launches run and what limits them."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation
from apps.accounts.selectors import team_list
from apps.dashboard.forms import plain_limits
from apps.launches.models import Executor, LaunchTarget
from apps.workloads.selectors import workload_list

MOST_MACHINES = 1_000_000
_MONEY: dict[str, Any] = {"max_digits": 24, "decimal_places": 10}


class _Sure(forms.Form):
    """A form that changes where money may go: it is sent with a tick."""

    sure = forms.BooleanField(label=_("Yes, change it"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)

    def values(self) -> dict[str, Any]:
        """What was written, without the tick."""
        return {name: value for name, value in self.cleaned_data.items() if name != "sure"}


class TargetForm(_Sure):
    """A place to launch on; a name that is there already is changed."""

    name = forms.CharField(label=_("Name"), max_length=60)
    executor = forms.ChoiceField(label=_("Runs on"), choices=Executor.choices)
    account = forms.CharField(
        label=_("Account"), required=False, max_length=64, help_text=_("AWS: its twelve digits.")
    )
    role = forms.CharField(
        label=_("Role or cluster"),
        required=False,
        max_length=200,
        help_text=_("AWS: the role that is taken. Kubernetes: the cluster's name on this server."),
    )
    external_id = forms.CharField(
        label=_("External id"), required=False, max_length=1224, help_text=_("Empty: stays as it is.")
    )
    max_instances = forms.IntegerField(
        label=_("Machines at most"), required=False, min_value=0, max_value=MOST_MACHINES
    )
    notices = forms.CharField(
        label=_("Queue of interruption notices"), required=False, max_length=500,
        help_text=_("https://sqs.REGION.amazonaws.com/…"),
    )  # fmt: skip
    settings = forms.CharField(
        label=_("Settings"), required=False, max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 5, "class": "mono", "spellcheck": "false"}),
        help_text=_("JSON, such as images by region: docs/algorithms/launches.md names them."),
    )  # fmt: skip
    active = forms.BooleanField(label=_("May launch"), required=False, initial=True)
    field_order = ("name", "executor", "account", "role", "external_id", "max_instances", "notices",
                   "settings", "active", "sure")  # fmt: skip

    def clean_settings(self) -> dict[str, Any]:
        """An object."""
        try:
            found = json.loads(self.cleaned_data["settings"] or "{}")
        except ValueError as error:
            raise forms.ValidationError(gettext("No JSON: %(error)s") % {"error": error}) from None
        if not isinstance(found, dict):
            raise forms.ValidationError(gettext("An object."))
        return found

    def values(self) -> dict[str, Any]:
        """What `target_save` takes, without the name."""
        found = {key: value for key, value in super().values().items() if key != "name"}
        found["credentials"] = found.pop("role")
        if not found["external_id"]:
            found.pop("external_id")
        return found


def target_initial(row: LaunchTarget) -> dict[str, Any]:
    """A target as its form shows it."""
    return {
        "name": row.name, "executor": row.executor, "account": row.account, "role": row.credentials,
        "max_instances": row.max_instances, "notices": row.notices, "active": row.active,
        "settings": json.dumps(row.settings, indent=2, ensure_ascii=False) if row.settings else "",
    }  # fmt: skip


class GuardForm(_Sure):
    """The organisation's limits, all at once; what is empty has none."""

    max_instances = forms.IntegerField(
        label=_("Machines at most"), required=False, min_value=0, max_value=MOST_MACHINES
    )
    max_price = forms.DecimalField(
        label=_("Price cap, a machine an hour"), required=False, min_value=0, **_MONEY
    )
    currency = forms.CharField(label=_("Currency"), required=False, max_length=3, help_text=_("As USD."))
    regions = forms.CharField(
        label=_("Allowed regions"), required=False, max_length=4000,
        help_text=_("Separated by commas. Empty: all."),
    )  # fmt: skip
    dry_run = forms.BooleanField(label=_("Dry run: everything but the call"), required=False)
    field_order = ("max_instances", "max_price", "currency", "regions", "dry_run", "sure")

    def clean_regions(self) -> list[str]:
        """Names, each once."""
        found = dict.fromkeys(one.strip() for one in self.cleaned_data["regions"].split(",") if one.strip())
        if any(len(one) > 40 for one in found):
            raise forms.ValidationError(gettext("A region has at most 40 characters."))
        return list(found)


class LaunchBudgetForm(_Sure):
    """A month's budget of a team, or of all launches; empty takes it away."""

    team = forms.ChoiceField(label=_("Team"), required=False)
    monthly = forms.DecimalField(
        label=_("A month"), required=False, min_value=0, help_text=_("Empty: no limit any more."), **_MONEY
    )
    currency = forms.CharField(label=_("Currency"), required=False, max_length=3, help_text=_("As USD."))
    field_order = ("team", "monthly", "currency", "sure")

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _teams(self, organisation, gettext("All launches"))


class RuleForm(_Sure):
    """A standing yes."""

    team = forms.ChoiceField(label=_("Team"), required=False)
    workload = forms.ChoiceField(label=_("Workload"), required=False)
    limit = forms.DecimalField(
        label=_("Up to"), min_value=0, help_text=_("Worst case of one turn of a plan."), **_MONEY
    )
    currency = forms.CharField(label=_("Currency"), max_length=3, help_text=_("As USD."))
    field_order = ("team", "workload", "limit", "currency", "sure")

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _teams(self, organisation, gettext("All teams"))
        names = [(str(one.pk), one.name) for one in workload_list(organisation)]
        self.fields["workload"].choices = [("", gettext("All workloads")), *names]  # type: ignore[attr-defined]


def _teams(form: forms.Form, organisation: Organisation, none: str) -> None:
    names = [(team.slug, team.name) for team in team_list(organisation)]
    form.fields["team"].choices = [("", none), *names]  # type: ignore[attr-defined]
