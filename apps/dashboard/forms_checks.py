"""Forms of cost checks."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation
from apps.accounts.selectors import team_list
from apps.dashboard.forms import plain_limits
from finops.engine.checks.policies import AMOUNTS, CARBON, PERCENTS
from finops.frames.region_carbon import PUBLISHERS

KIND_WORDS = (
    ("max_increase", _("Rise of at most an amount a month")),
    ("max_increase_percent", _("Rise of at most a percentage")),
    ("max_decrease", _("Fall of at most an amount a month")),
    ("max_decrease_percent", _("Fall of at most a percentage")),
    ("max_total", _("At most an amount a month in all")),
    ("team_budget", _("Within the team's budget of the month")),
    ("spot_eligible_on_demand", _("What may be interrupted runs on Spot")),
    ("volume_types", _("No volumes of these types")),
    ("required_tag", _("Everything has a tag")),
    (CARBON, _("Regions with at most so many grams of CO2e a kWh")),
    ("all_priced", _("Every part has a price")),
)
# Field of the form by the name that the policy has for it; the engine checks what a kind needs.
_NAMES = {"tag": "word", "types": "word"}


class PolicyForm(forms.Form):
    """One policy."""

    kind = forms.ChoiceField(label=_("Policy"), choices=KIND_WORDS)
    team = forms.ChoiceField(label=_("Holds for"), required=False)
    level = forms.ChoiceField(
        label=_("Breaking it"), choices=[("deny", _("denies")), ("warn", _("warns"))], initial="deny"
    )
    limit = forms.CharField(
        label=_("Limit"),
        required=False,
        max_length=40,
        help_text=_("With a point: 1500.00. Exactly at it passes."),
    )
    currency = forms.CharField(label=_("Currency"), required=False, max_length=10, initial="USD")
    word = forms.CharField(
        label=_("Volume types or tag"),
        required=False,
        max_length=500,
        help_text=_("Types with commas, gp2, io1; or the key of the tag, owner."),
    )
    source = forms.ChoiceField(
        label=_("Source of carbon factors"),
        required=False,
        choices=[("", _("all must agree")), *((name, name) for name in PUBLISHERS)],
    )

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        teams = [(team.slug, team.name) for team in team_list(organisation)]
        self.fields["team"].choices = [("", _("the whole organisation")), *teams]  # type: ignore[attr-defined]
        plain_limits(self)

    def values(self) -> dict[str, Any]:
        """The policy as a document; fields that its kind does not have are left out."""
        given = self.cleaned_data
        kind = given["kind"]
        found: dict[str, Any] = {"kind": kind, "level": given["level"]}
        if kind in (*AMOUNTS, *PERCENTS, CARBON):
            found["limit"] = given["limit"]
        if kind in AMOUNTS:
            found["currency"] = given["currency"]
        if kind == "volume_types":
            found["types"] = [part.strip() for part in given["word"].split(",") if part.strip()]
        if kind in {"required_tag", "spot_eligible_on_demand"} and given["word"]:
            found["tag"] = given["word"].strip()
        if kind == CARBON and given["source"]:
            found["source"] = given["source"]
        return found

    def put(self, name: str, messages: list[str]) -> None:
        """An error of the policy beside the field it was typed into."""
        field = _NAMES.get(name, name)
        self.add_error(field if field in self.fields else None, messages)
