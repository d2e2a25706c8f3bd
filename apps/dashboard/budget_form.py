"""The form of a budget."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.billing.models import BudgetBasis, BudgetPeriod, BudgetScope


class PercentsField(forms.CharField):
    """`80, 100`: percentages separated by commas."""

    def clean(self, value: Any) -> list[Decimal]:
        """The numbers, each once."""
        text = super().clean(value) or ""
        try:
            found = [Decimal(part.strip().rstrip("%").strip()) for part in text.split(",") if part.strip()]
        except InvalidOperation:
            raise forms.ValidationError(gettext("Write percentages as 80, 100.")) from None
        return list(dict.fromkeys(found))


def _day(label: Any, *, required: bool, help_text: Any = "") -> forms.DateField:
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, required=required, widget=widget, help_text=help_text)


class BudgetForm(forms.Form):
    """A budget; what the scope does not need stays empty."""

    name = forms.CharField(label=_("Name"), max_length=100)
    scope = forms.ChoiceField(label=_("Covers"), choices=BudgetScope.choices)
    scope_value = forms.CharField(
        label=_("Service, account or tag value"),
        max_length=300,
        required=False,
        help_text=_("As it stands in the bills."),
    )
    tag_key = forms.CharField(label=_("Tag key"), max_length=300, required=False)
    team = forms.ChoiceField(label=_("Team"), required=False)
    period = forms.ChoiceField(label=_("For each"), choices=BudgetPeriod.choices)
    amount = forms.DecimalField(label=_("Amount"), max_digits=38, decimal_places=18)
    currency = forms.CharField(label=_("Currency"), max_length=10, help_text=_("For example USD."))
    basis = forms.ChoiceField(label=_("Cost counted as"), choices=BudgetBasis.choices)
    valid_from = _day(_("From"), required=True)
    valid_to = _day(_("Until, that day excluded"), required=False)
    actual = PercentsField(
        label=_("Alert at percent spent"), required=False, help_text=_("Several with commas: 80, 100.")
    )
    forecast = PercentsField(
        label=_("Alert at percent forecast"), required=False, help_text=_("Several with commas: 100, 120.")
    )

    def __init__(self, *args: Any, teams: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["team"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
        field.choices = [("", "—"), *teams]
