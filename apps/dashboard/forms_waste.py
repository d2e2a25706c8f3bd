"""Forms of waste: a rule with its thresholds, a file of metrics, where to collect them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation, Team
from apps.dashboard.forms import plain_limits
from apps.waste.services.loading import MOST_UPLOAD
from finops.engine.waste.model import KEEP_TAGS
from finops.frames.waste import Rule

PREFIX = "threshold_"


class RuleForm(forms.Form):
    """What is wanted of a rule, for everybody or for one team."""

    team = forms.ChoiceField(label=_("For"), required=False)
    enabled = forms.BooleanField(label=_("Ask this question"), required=False, initial=True)
    accounts = forms.CharField(
        label=_("Only in accounts"), required=False, max_length=2000, help_text=_("With commas; empty: all.")
    )
    regions = forms.CharField(
        label=_("Only in regions"), required=False, max_length=2000, help_text=_("With commas; empty: all.")
    )

    def __init__(self, *args: Any, organisation: Organisation, rule: Rule, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        teams = Team.objects.filter(organisation=organisation).order_by("name")
        everybody: list[tuple[str, Any]] = [("", _("everybody"))]
        self.fields["team"].choices = everybody + [(team.slug, team.name) for team in teams]  # type: ignore[attr-defined]
        for name, usual in {**rule.thresholds, "keep_tags": KEEP_TAGS}.items():
            self.fields[PREFIX + name] = forms.CharField(
                label=name,
                required=False,
                max_length=300,
                help_text=_("Usually %(value)s") % {"value": usual.replace(",", ", ")},
            )
        plain_limits(self)

    def given(self) -> dict[str, Any]:
        """The form as arguments of `setting_save`."""
        data = self.cleaned_data
        return {
            "team": data["team"],
            "enabled": data["enabled"],
            "accounts": data["accounts"].split(","),
            "regions": data["regions"].split(","),
            "thresholds": {
                name.removeprefix(PREFIX): value for name, value in data.items() if name.startswith(PREFIX)
            },
        }

    def threshold_fields(self) -> list[Any]:
        """The fields of the thresholds."""
        return [self[name] for name in self.fields if name.startswith(PREFIX)]


class MeasuresForm(forms.Form):
    """A file of metrics, a list of resources, or use of a cluster."""

    file = forms.FileField(label=_("File"), help_text=_("CSV or JSON, UTF-8"))

    def clean_file(self) -> Any:
        """What is read at once."""
        given = self.cleaned_data["file"]
        if given.size > MOST_UPLOAD:
            raise forms.ValidationError(
                _("The file is larger than %(limit)d MiB.") % {"limit": MOST_UPLOAD >> 20}
            )
        return given


class CloudWatchForm(forms.Form):
    """Whose metrics CloudWatch is asked for."""

    region = forms.CharField(label=_("Region"), max_length=40, help_text=_("for example eu-west-1"))
    role = forms.CharField(
        label=_("Role to take"), required=False, max_length=600,
        help_text=_("ARN; empty: the credentials of this server"),
    )  # fmt: skip
    days = forms.IntegerField(label=_("Days"), min_value=1, max_value=30, initial=14)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)


class PrometheusForm(forms.Form):
    """A server that the operator allows, and what is asked of it."""

    url = forms.ChoiceField(label=_("Server"))
    cluster = forms.CharField(
        label=_("Kubernetes cluster"), required=False, max_length=200,
        help_text=_("Its workloads; empty: the nodes"),
    )  # fmt: skip
    label = forms.CharField(
        label=_("Label of the instance id"), required=False, max_length=100, initial="instance_id"
    )
    core_hour = forms.CharField(label=_("Price of a core for an hour"), required=False, max_length=30)
    gib_hour = forms.CharField(label=_("Price of a GiB for an hour"), required=False, max_length=30)
    currency = forms.CharField(label=_("Currency"), required=False, max_length=3)
    days = forms.IntegerField(label=_("Days"), min_value=1, max_value=30, initial=14)

    def __init__(self, *args: Any, urls: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["url"].choices = [(url, url) for url in urls]  # type: ignore[attr-defined]
        plain_limits(self)
