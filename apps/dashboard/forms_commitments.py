"""Forms of the page of own commitments."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as now
from django.utils.translation import gettext_lazy as _

from apps.dashboard.forms import NamesField, plain_limits

# An answer of ten thousand reservations has 8 MB.
MAX_FILE_BYTES = 32 * 1024 * 1024


class CommitmentFileForm(forms.Form):
    """An answer of describe-reserved-instances (or …-listings) or describe-savings-plans."""

    file = forms.FileField(
        label=_("File"),
        help_text=_("JSON of describe-reserved-instances, its -listings, or describe-savings-plans."),
    )
    region = forms.RegexField(
        r"^[a-z0-9-]+$",
        label=_("Region"),
        required=False,
        max_length=40,
        help_text=_("Of reservations; empty: the file's name, the zone or the bill tells it."),
    )
    account = forms.RegexField(r"^[0-9]{12}$", label=_("Account"), required=False, help_text=_("12 digits."))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)

    def clean_file(self) -> Any:
        """Not larger than any such answer."""
        file = self.cleaned_data["file"]
        if file.size > MAX_FILE_BYTES:
            raise forms.ValidationError(
                now("This is larger than the %(limit)s MiB that are taken here")
                % {"limit": MAX_FILE_BYTES >> 20}
            )
        return file


class CommitmentFeedForm(forms.Form):
    """An account that is looked at by the clock."""

    name = forms.CharField(label=_("Name"), max_length=100)
    regions = NamesField(label=_("Regions"), help_text=_("For example us-east-1, eu-west-1."))
    minutes = forms.IntegerField(label=_("Ask every, minutes"), min_value=5, max_value=1440, initial=60)
    role_arn = forms.CharField(
        label=_("Role to take"),
        required=False,
        max_length=200,
        help_text=_("Empty: the credentials of the server."),
    )
    external_id = forms.CharField(label=_("External id"), required=False, max_length=200)
    account = forms.RegexField(r"^[0-9]{12}$", label=_("Account"), required=False, help_text=_("12 digits."))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)
