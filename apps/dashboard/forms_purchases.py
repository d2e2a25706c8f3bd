"""Forms of purchases."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation
from apps.billing.models import SeenOffer
from apps.dashboard.forms import plain_limits
from apps.recommendations.selectors.purchases import buyer_list
from apps.recommendations.services.purchases import MAX_QUANTITY
from apps.recommendations.services.stated import MAX_REASON


class PurchaseForm(forms.Form):
    """What to buy of one offering; it waits for its approvals."""

    region = forms.CharField(max_length=40, widget=forms.HiddenInput)
    offer = forms.CharField(max_length=100, widget=forms.HiddenInput)
    recommendation = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)
    account = forms.ChoiceField(label=_("Account that buys"))
    quantity = forms.IntegerField(label=_("How many"), min_value=1, max_value=MAX_QUANTITY, initial=1)
    limit = forms.DecimalField(
        label=_("Limit of the whole order"),
        required=False,
        min_value=0,
        max_digits=18,
        decimal_places=6,
        help_text=_("Paid at once. Empty: what it costs as last seen; dearer, nothing is bought."),
    )
    reason = forms.CharField(label=_("Reason"), required=False, max_length=MAX_REASON)

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        active = buyer_list(organisation).filter(active=True)
        self.fields["account"].choices = [(one.account, str(one)) for one in active]  # type: ignore[attr-defined]
        plain_limits(self)


class BuyerForm(forms.Form):
    """An account that may buy."""

    account = forms.RegexField(r"^[0-9]{12}$", label=_("Account"), help_text=_("12 digits."))
    role = forms.CharField(
        label=_("Role to take"),
        required=False,
        max_length=200,
        help_text=_("One of its own, with the rights to buy and nothing else. Empty: the server's."),
    )
    external_id = forms.CharField(label=_("External id"), required=False, max_length=200)
    active = forms.BooleanField(label=_("It may buy"), required=False, initial=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)


class WhyForm(forms.Form):
    """A reason, and for the outcome of an order the reservations that came of it."""

    reason = forms.CharField(label=_("Reason"), max_length=MAX_REASON)
    reservations = forms.CharField(
        label=_("Reservations that came of it"),
        required=False,
        max_length=4000,
        help_text=_("Their ids, separated by spaces or commas. Empty: none did."),
    )

    def ids(self) -> list[str]:
        """The ids that were given."""
        return str(self.cleaned_data["reservations"]).replace(",", " ").split()


def open_offer(region: str, offer: str) -> list[SeenOffer]:
    """The open listings of an offering as last seen, the cheapest first; none for one that is not there."""
    rows = list(SeenOffer.objects.filter(region=region, offer=offer, gone_at__isnull=True).order_by("fixed"))
    newest = max((row.seen_at for row in rows), default=None)
    return [row for row in rows if row.seen_at == newest]
