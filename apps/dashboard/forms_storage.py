"""Forms of storage: the checkpoint calculator, the owner's word, changes of lifecycle rules."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation
from apps.dashboard.forms import plain_limits
from apps.recommendations.models.storage import MAX_DAYS
from apps.recommendations.selectors.storage import storage_account_list
from apps.recommendations.services.stated import MAX_REASON


class CheckpointForm(forms.Form):
    """A checkpoint, how long it is kept, and the run that writes it."""

    gib = forms.FloatField(label=_("Size of a checkpoint, GiB"), min_value=0.001, max_value=1e9)
    objects = forms.IntegerField(label=_("Files of a checkpoint"), min_value=1, max_value=10**9)
    keep_months = forms.FloatField(label=_("Kept for, months"), min_value=0.05, max_value=120)
    reads_a_month = forms.FloatField(
        label=_("Whole reads a month"), min_value=0, max_value=30, help_text=_("Of a kept checkpoint.")
    )
    every_hours = forms.FloatField(label=_("One every, hours"), min_value=0.01, max_value=87_660)
    run_hours = forms.FloatField(label=_("Length of the run, hours"), min_value=0.01, max_value=87_660)
    keep_last = forms.IntegerField(label=_("Keep the last"), min_value=1, max_value=10_000)
    claimed_pct = forms.FloatField(label=_("Claimed saving, %"), min_value=0.1, max_value=99.9)
    region = forms.CharField(label=_("Region"), max_length=40)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)


class WordForm(forms.Form):
    """What the owner says about a prefix."""

    bucket = forms.CharField(max_length=255, widget=forms.HiddenInput)
    path = forms.CharField(max_length=1024, required=False, widget=forms.HiddenInput, strip=False)
    state = forms.CharField(max_length=10, widget=forms.HiddenInput)
    checkpoints = forms.BooleanField(label=_("It holds checkpoints"), required=False)
    workload = forms.CharField(label=_("Workload that writes them"), required=False, max_length=100)
    life_days = forms.IntegerField(
        label=_("Its writer deletes it after, days"),
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        help_text=_("Known short lives make minimum days dear."),
    )
    delete_after = forms.IntegerField(
        label=_("A rule may delete it after, days"),
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        help_text=_("Checkpoints and old versions only. Two people approve it, and it waits."),
    )
    keep_versions = forms.IntegerField(
        label=_("Newest old versions that stay"), required=False, min_value=1, max_value=100
    )
    may_wait = forms.BooleanField(label=_("A read may wait hours for a restore"), required=False)
    one_zone = forms.BooleanField(label=_("One zone is enough"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)


class ChangeForm(forms.Form):
    """Ask for the rule of the advice."""

    bucket = forms.CharField(max_length=255, widget=forms.HiddenInput)
    path = forms.CharField(max_length=1024, required=False, widget=forms.HiddenInput, strip=False)
    state = forms.CharField(max_length=10, widget=forms.HiddenInput)
    account = forms.ChoiceField(label=_("Account of the bucket"))
    reason = forms.CharField(label=_("Reason"), required=False, max_length=MAX_REASON)

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        active = storage_account_list(organisation).filter(active=True)
        self.fields["account"].choices = [(one.account, str(one)) for one in active]  # type: ignore[attr-defined]
        plain_limits(self)


class ReasonForm(forms.Form):
    """Why."""

    reason = forms.CharField(label=_("Reason"), max_length=MAX_REASON)


class AccountForm(forms.Form):
    """An account whose lifecycle rules may be written."""

    account = forms.RegexField(r"^[0-9]{12}$", label=_("Account"), help_text=_("12 digits."))
    role = forms.CharField(
        label=_("Role to take"),
        required=False,
        max_length=200,
        help_text=_("One of its own, with the rights of the policy below, no other. Empty: the server's."),
    )
    external_id = forms.CharField(label=_("External id"), required=False, max_length=200)
    active = forms.BooleanField(label=_("Rules may be written"), required=False, initial=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)
