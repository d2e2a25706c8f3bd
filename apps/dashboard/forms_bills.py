"""Forms of the pages that connect bills and keep their tables."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from finops.providers.aws.bill_setup import CUR2, FOCUS, HOME_REGION, BillSetup, SetupError


class SetupForm(forms.Form):
    """For whom the role and the export are made; the names are those of `BillSetup`."""

    bucket = forms.CharField(
        label=_("Bucket"),
        max_length=63,
        help_text=_("A name that nobody in AWS has yet, or your own bucket."),
    )
    prefix = forms.CharField(  # type: ignore[assignment]
        label=_("Prefix"), max_length=200, initial="offpeak", help_text=_("Folder of the exports in it.")
    )
    payer = forms.CharField(
        label=_("Account that pays"), max_length=12, help_text=_("12 digits of the management account.")
    )
    principal = forms.CharField(
        label=_("This service runs as"),
        max_length=600,
        help_text=_("12 digits of its account, or the ARN of its role."),
    )
    external_id = forms.CharField(
        label=_("External id"),
        max_length=200,
        help_text=_("Made for you; it goes into the role and the feed."),
    )
    table = forms.ChoiceField(
        label=_("Export"), choices=[(CUR2, "CUR 2.0"), (FOCUS, "FOCUS 1.2")], initial=CUR2,
        help_text=_("CUR 2.0 tells more about commitments; FOCUS is the common form."),
    )  # fmt: skip
    region = forms.CharField(label=_("Region of the bucket"), max_length=25, initial=HOME_REGION)
    make_bucket = forms.BooleanField(label=_("Make the bucket too"), required=False, initial=True)
    cost_explorer = forms.BooleanField(
        label=_("Daily totals until the first export"),
        required=False,
        initial=True,
        help_text=_("Cost Explorer: 1 request a day, 0.01 USD each."),
    )
    organizations = forms.BooleanField(
        label=_("Names of the accounts"), required=False, initial=True, help_text=_("From AWS Organizations.")
    )

    @staticmethod
    def fresh() -> dict[str, Any]:
        """Values of an untouched form: an external id that nobody can guess."""
        return {"external_id": secrets.token_hex(16)}

    def setup(self) -> BillSetup | None:
        """What the texts are made of; None with the error at its field."""
        if not self.is_valid():
            return None
        given = {k: v.strip().strip("/") if k == "prefix" else v for k, v in self.cleaned_data.items()}
        try:
            return BillSetup(**given)
        except SetupError as error:
            self.add_error(error.field, gettext(str(error)))
            return None


class BillFeedForm(forms.Form):
    """Where the service finds the bills, and as whom."""

    name = forms.CharField(label=_("Name"), max_length=100, initial="bills")
    bucket = forms.CharField(label=_("Bucket"), max_length=63)
    prefix = forms.CharField(label=_("Prefix"), max_length=256, required=False)  # type: ignore[assignment]
    region = forms.CharField(label=_("Region of the bucket"), max_length=40, initial=HOME_REGION)
    role_arn = forms.CharField(
        label=_("Role to take"), max_length=200, required=False,
        help_text=_("Empty: the credentials of the server."),
    )  # fmt: skip
    external_id = forms.CharField(label=_("External id"), max_length=200, required=False)
    account = forms.CharField(
        label=_("Account that pays"), max_length=12, required=False, help_text=_("12 digits.")
    )
    cost_explorer = forms.BooleanField(
        label=_("Daily totals until the first export"),
        required=False,
        help_text=_("Cost Explorer: 1 request a day, 0.01 USD each."),
    )


class InvoiceForm(forms.Form):
    """The total of an invoice."""

    amount = forms.CharField(label=_("Invoice total"), max_length=40)
    currency = forms.CharField(label=_("Currency"), max_length=10)


class TableForm(forms.Form):
    """A CSV file for a table."""

    file = forms.FileField(label=_("CSV file"))


class DatedRowForm(forms.Form):
    """A row of a dated table: from which day on, and where it stands; its service checks the values."""

    day_field = "date"
    day_label: Any = _("On")
    source_label: Any = _("Source")
    source_help: Any = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source = forms.CharField(label=self.source_label, max_length=300, help_text=self.source_help)
        self.fields = {**self.fields, self.day_field: day_input(self.day_label), "source": source}
        self.order_fields(self.field_order)

    def kept(self, store: Callable[..., Any]) -> bool:
        """Whether the row is stored; errors stand at their fields."""
        if not self.is_valid():
            return False
        try:
            store(**self.cleaned_data)
        except ValidationError as error:
            for name, texts in error.message_dict.items():
                self.add_error(name, " ".join(texts))
        return not self.errors


def day_input(label: Any, *, required: bool = True, help_text: Any = "") -> forms.CharField:
    """A day, taken as text: the service says what is wrong with it."""
    return forms.CharField(
        label=label,
        widget=forms.DateInput(attrs={"type": "date"}),
        max_length=10,
        required=required,
        help_text=help_text,
    )


class RateForm(DatedRowForm):
    """One negotiated rate."""

    day_field = "valid_from"
    day_label = _("Valid from")
    source_label = _("Contract")
    field_order = (
        "provider", "service", "sku", "product", "region", "percent", "price", "currency", "valid_from",
        "valid_until", "source",
    )  # fmt: skip

    provider = forms.CharField(label=_("Provider"), max_length=20, initial="aws")
    service = forms.CharField(
        label=_("Service"), max_length=100, required=False, help_text=_("For example AmazonEC2. Empty: all.")
    )
    sku = forms.CharField(
        label=_("SKU or usage type"), max_length=100, required=False,
        help_text=_("A text or a pattern: BoxUsage:m5*. Empty: all."),
    )  # fmt: skip
    product = forms.CharField(
        label=_("Product"), max_length=100, required=False, help_text=_("For example Linux/UNIX. Empty: all.")
    )
    region = forms.CharField(label=_("Region"), max_length=40, required=False, help_text=_("Empty: all."))
    percent = forms.CharField(label=_("Percent off the list price"), max_length=20, required=False)
    price = forms.CharField(label=_("Or a price of one unit"), max_length=40, required=False)
    currency = forms.CharField(label=_("Currency of the price"), max_length=10, required=False)
    valid_until = day_input(
        _("Valid until"), required=False, help_text=_("The first day on which it no longer holds.")
    )


class ExchangeForm(DatedRowForm):
    """One exchange rate."""

    source_help = _("Where the rate comes from.")
    field_order = ("base", "rate", "quote", "date", "source", "both_ways")

    base = forms.CharField(label=_("One unit of"), max_length=10, help_text=_("For example USD."))
    rate = forms.CharField(label=_("costs"), max_length=40, help_text=_("For example 7.20."))
    quote = forms.CharField(label=_("in"), max_length=10, help_text=_("For example CNY."))
    both_ways = forms.BooleanField(
        label=_("Both ways"), required=False, help_text=_("Amounts in the second currency are divided by it.")
    )
