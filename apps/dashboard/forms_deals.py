"""Forms of deals: the rule that watches offers."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _


class NamesField(forms.CharField):
    """`m5.large, c5.large`."""

    def clean(self, value: Any) -> list[str]:
        """The names, each once."""
        text = super().clean(value) or ""
        return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


class DealRuleForm(forms.Form):
    """A rule; one condition at least."""

    name = forms.CharField(label=_("Name"), max_length=100)
    min_saving_pct = forms.DecimalField(
        label=_("Saves at least, %"),
        required=False,
        help_text=_("Of the on-demand cost of the hours covered."),
    )
    break_even_before = forms.DateField(
        label=_("Money back before"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    max_list_pct = forms.DecimalField(
        label=_("Costs at most, % of the list price left"),
        required=False,
        help_text=_("Of what a new year costs for the same hours."),
    )
    regions = NamesField(label=_("Regions"), required=False, help_text=_("Several with commas; empty: all."))
    instance_types = NamesField(
        label=_("Instance types"), required=False, help_text=_("Several with commas; empty: all.")
    )
    platforms = NamesField(
        label=_("Platforms"), required=False, help_text=_("For example Linux/UNIX, Windows.")
    )
    team = forms.ChoiceField(label=_("Team"), required=False)
    active = forms.BooleanField(label=_("Watches"), required=False)

    def __init__(self, *args: Any, teams: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["team"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
        field.choices = [("", "—"), *teams]
