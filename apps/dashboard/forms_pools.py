"""Forms of pools, devices and stop schedules."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation
from apps.catalog.models import PoolUse
from apps.dashboard.forms import plain_limits
from apps.launches.models import Executor
from apps.launches.selectors.plans import target_list

_WINDOW = _("20:00-08:00 on the clock of the zone. Empty: always.")
_ZONE = _("As Europe/Berlin.")
_DAYS = _("As mon-fri; empty: every day.")
_MONEY: dict[str, Any] = {"required": False, "min_value": 0, "max_digits": 16, "decimal_places": 6}


class PoolForm(forms.Form):
    """A pool; a name that is there already is changed."""

    name = forms.CharField(label=_("Name"), max_length=60)
    kind = forms.ChoiceField(label=_("Kind"), choices=PoolUse.choices)
    units = forms.IntegerField(
        label=_("Units"),
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text=_("As GPUs. Empty: no limit."),
    )
    currency = forms.RegexField(r"^[A-Za-z]{3}$", label=_("Currency"), help_text=_("As USD."))
    power = forms.DecimalField(label=_("Power an hour"), help_text=_("Of a unit, own machines."), **_MONEY)
    wear = forms.DecimalField(
        label=_("Wear an hour"), help_text=_("Price over life, own machines."), **_MONEY
    )
    price = forms.DecimalField(
        label=_("Price an hour"), help_text=_("Of a unit, Spot and on demand."), **_MONEY
    )
    speed = forms.FloatField(
        label=_("Speed"),
        min_value=1e-6,
        max_value=1e6,
        initial=1,
        help_text=_("Of a unit, against that in which work is told."),
    )
    interruptions_per_hour = forms.FloatField(
        label=_("Interruptions an hour"), required=False, min_value=0, max_value=1000, initial=0
    )
    window = forms.CharField(label=_("Window"), required=False, max_length=11, help_text=_WINDOW)
    zone = forms.CharField(label=_("Time zone"), required=False, max_length=60, help_text=_ZONE)
    days = forms.CharField(label=_("Days"), required=False, max_length=40, help_text=_DAYS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)

    def values(self) -> dict[str, Any]:
        """What `pool_save` takes, without the name."""
        found = {key: value for key, value in self.cleaned_data.items() if key != "name"}
        found["interruptions_per_hour"] = found["interruptions_per_hour"] or 0.0
        return found


class DeviceForm(forms.Form):
    """A device of a pool."""

    pool = forms.ChoiceField(label=_("Pool"))
    name = forms.CharField(label=_("Name"), max_length=100)
    idle_minutes = forms.IntegerField(
        label=_("Minutes nobody used it"), min_value=0, max_value=1440, initial=15
    )
    window = forms.CharField(label=_("Window"), required=False, max_length=11, help_text=_WINDOW)
    zone = forms.CharField(label=_("Time zone"), required=False, max_length=60, help_text=_ZONE)
    days = forms.CharField(label=_("Days"), required=False, max_length=40, help_text=_DAYS)

    def __init__(self, *args: Any, pools: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["pool"].choices = pools  # type: ignore[attr-defined]
        plain_limits(self)


class WorkForm(forms.Form):
    """A piece of work to compare pools for."""

    hours = forms.FloatField(label=_("Hours of work"), min_value=1e-6, max_value=100_000)
    units = forms.IntegerField(label=_("Units"), min_value=1, max_value=1_000_000)
    deadline_hours = forms.FloatField(
        label=_("Done within hours"), required=False, min_value=0, max_value=100_000
    )
    checkpoint_minutes = forms.FloatField(
        label=_("Minutes to write a checkpoint"), required=False, min_value=1e-6, max_value=1440
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)


class ScheduleForm(forms.Form):
    """A stop schedule; it waits for its approval."""

    name = forms.CharField(label=_("Name"), max_length=100)
    target = forms.ChoiceField(label=_("Account"))
    region = forms.CharField(label=_("Region"), max_length=40, help_text=_("As us-east-1."))
    tag_key = forms.CharField(label=_("Tag"), max_length=128)
    tag_value = forms.CharField(label=_("Value of the tag"), max_length=256)
    start = forms.CharField(
        label=_("On from"), required=False, max_length=5, help_text=_("As 08:00. Empty: nothing is started.")
    )
    stop = forms.CharField(
        label=_("Off from"), required=False, max_length=5, help_text=_("As 19:00. Empty: nothing is stopped.")
    )
    days = forms.CharField(
        label=_("Days"), max_length=40, initial="mon-fri", help_text=_("On which the window starts.")
    )
    zone = forms.CharField(label=_("Time zone"), max_length=60, help_text=_ZONE)
    holidays = forms.CharField(
        label=_("Holidays"),
        required=False,
        max_length=5000,
        help_text=_("Dates as 2026-12-25, with commas: nothing is started."),
    )
    dry_run = forms.BooleanField(label=_("Dry run"), required=False)

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = target_list(organisation).filter(executor=Executor.AWS)
        self.fields["target"].choices = [(one.name, one.name) for one in rows]  # type: ignore[attr-defined]
        plain_limits(self)

    def clean_holidays(self) -> list[Any]:
        """Dates. Raises ValidationError that names the first that is none."""
        field, found = forms.DateField(input_formats=["%Y-%m-%d"]), []
        for part in self.cleaned_data["holidays"].replace("\n", ",").split(","):
            if part.strip():
                try:
                    found.append(field.to_python(part.strip()))
                except forms.ValidationError:
                    raise forms.ValidationError(
                        _("No date such as 2026-12-25: %(text)s") % {"text": part.strip()[:40]}
                    ) from None
        return found
