"""The form of a rule of waste: asked or not, where, and its thresholds."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation, Team
from apps.dashboard.forms import plain_limits
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
