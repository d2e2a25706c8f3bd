"""Forms of weekly reports and of alerts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.dashboard.words import zone_names
from apps.reports.causes import causes
from apps.reports.models import LANGUAGES, ChannelKind, Edition, Weekday

_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


class AddressesField(forms.CharField):
    """Addresses on lines or separated by commas or blanks."""

    widget = forms.Textarea(attrs={"rows": 3})

    def clean(self, value: Any) -> list[str]:
        """Each once; whether mail may go there is the service's to say."""
        text = super().clean(value) or ""
        return list(dict.fromkeys(part for part in re.split(r"[\s,;]+", text) if part))


class ClockField(forms.CharField):
    """`22:00` as minutes after midnight; nothing is None."""

    def clean(self, value: Any) -> int | None:
        """The minutes."""
        text = (super().clean(value) or "").strip()
        if not text:
            return None
        match = _CLOCK.fullmatch(text)
        if match is None:
            raise forms.ValidationError(gettext("Write times like 22:00."))
        return int(match[1]) * 60 + int(match[2])


def _zones() -> list[tuple[str, str]]:
    return [(name, name) for name in zone_names()]


def _teams(field: forms.Field, teams: Sequence[tuple[str, str]]) -> None:
    assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
    field.choices = [("", "—"), *teams]


class SubscriptionForm(forms.Form):
    """A weekly report for some people."""

    name = forms.CharField(label=_("Name"), max_length=100)
    recipients = AddressesField(
        label=_("To"), max_length=200_000, help_text=_("Addresses of your organisation, one on a line.")
    )
    edition = forms.ChoiceField(label=_("Edition"), choices=Edition.choices)
    team = forms.ChoiceField(label=_("Only about the team"), required=False)
    account = forms.CharField(label=_("Only about the account"), required=False, max_length=100)
    language = forms.ChoiceField(label=_("Language"), choices=LANGUAGES)
    weekday = forms.TypedChoiceField(label=_("Sent on"), choices=Weekday.choices, coerce=int)
    hour = forms.IntegerField(label=_("At the hour"), min_value=0, max_value=23)
    time_zone = forms.ChoiceField(label=_("Time zone"), choices=_zones)
    currency = forms.CharField(
        label=_("Convert to the currency"),
        required=False,
        max_length=10,
        help_text=_("Empty: each currency by itself."),
    )
    attach_pdf = forms.BooleanField(label=_("Attach a PDF"), required=False)
    attach_csv = forms.BooleanField(label=_("Attach a CSV"), required=False)
    active = forms.BooleanField(label=_("Send it each week"), required=False)

    def __init__(self, *args: Any, teams: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _teams(self.fields["team"], teams)


def _causes() -> list[tuple[str, str]]:
    return [(one.name, str(one.title)) for one in causes()]


class ChannelForm(forms.Form):
    """Where alerts go."""

    name = forms.CharField(label=_("Name"), max_length=100)
    kind = forms.ChoiceField(label=_("Kind"), choices=ChannelKind.choices)
    emails = AddressesField(
        label=_("Mail to"), required=False, max_length=20_000, help_text=_("For the kind mail.")
    )
    address = forms.CharField(
        label=_("Address"),
        required=False,
        max_length=500,
        help_text=_("Of Slack or of your own server, with https. It is a secret: it is not shown again."),
    )
    causes = forms.MultipleChoiceField(
        label=_("Only these causes"),
        required=False,
        choices=_causes,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None chosen: all."),
    )
    team = forms.ChoiceField(label=_("Only of the team"), required=False)
    language = forms.ChoiceField(label=_("Language"), choices=LANGUAGES)
    time_zone = forms.ChoiceField(label=_("Time zone"), choices=_zones)
    quiet_from = ClockField(label=_("Quiet from"), required=False, max_length=5, help_text=_("As 22:00."))
    quiet_to = ClockField(label=_("Quiet until"), required=False, max_length=5)
    active = forms.BooleanField(label=_("Use it"), required=False)

    def __init__(self, *args: Any, teams: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _teams(self.fields["team"], teams)


class AlertSnoozeForm(forms.Form):
    """Until when, and why."""

    days = forms.IntegerField(label=_("For so many days"), min_value=1, max_value=366)
    reason = forms.CharField(label=_("Why"), max_length=500)
