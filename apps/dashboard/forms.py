"""Forms of the pages. Names are those of the command line with underscores, so a link is a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.dashboard.catalogue import Choices

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
NAME_OR_PRODUCT = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/()-]{0,59}")
MOMENT = "%Y-%m-%dT%H:%M"


class NamesField(forms.CharField):
    """Names separated by commas or blanks: `p3.2xlarge, p3.8xlarge`."""

    def clean(self, value: Any) -> list[str]:
        """The names, each once, in the order given."""
        text = super().clean(value)
        names = list(dict.fromkeys(part for part in re.split(r"[\s,;]+", text or "") if part))
        wrong = [name for name in names if not NAME.fullmatch(name)]
        if wrong:
            raise forms.ValidationError(gettext("Not a name: %(name)s.") % {"name": wrong[0][:40]})
        return names


class MomentField(forms.DateTimeField):
    """A local time of the reader's zone; an ISO text with an offset is taken as it is."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=MOMENT)

    def to_python(self, value: Any) -> datetime | None:
        """An aware datetime."""
        if isinstance(value, str) and value.strip():
            try:
                found = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
            except ValueError:
                raise forms.ValidationError(gettext("Write the time as 2020-03-06T09:00.")) from None
            if found.tzinfo is not None:
                return found
        return super().to_python(value)


# The least of a number that has to be above 0 only.
LITTLE = 1e-3


def plain_limits(form: forms.Form) -> None:
    """Limits of numbers in plain words with both ends, instead of Django's own."""
    for field in form.fields.values():
        ends = [v for v in field.validators if isinstance(v, MinValueValidator | MaxValueValidator)]
        low = next((v.limit_value for v in ends if isinstance(v, MinValueValidator)), None)
        high = next((v.limit_value for v in ends if isinstance(v, MaxValueValidator)), None)
        text = (
            _("Write a number from %(low)s to %(high)s.") if high is not None else _("Write %(low)s or more.")
        )
        if high is not None and low is not None and 0 < low < LITTLE:
            text = _("Write a number above 0, up to %(high)s.")
        for own in ends:
            field.validators.remove(own)
            field.validators.append(type(own)(own.limit_value, text % {"low": low, "high": high}))


class RunForm(forms.Form):
    """A workload. Everything but the hours may stay empty."""

    hours = forms.FloatField(label=_("Hours of work"), min_value=0.01, max_value=2208)
    count = forms.IntegerField(label=_("Machines"), min_value=1, max_value=10000, initial=1, required=False)
    types = NamesField(
        label=_("Instance types"),
        required=False,
        help_text=_("Separated by commas; the first is today's type."),
    )
    min_vcpu = forms.IntegerField(label=_("At least vCPU"), min_value=1, required=False)
    min_memory_gib = forms.FloatField(label=_("At least memory, GiB"), min_value=0.1, required=False)
    gpu = forms.CharField(label=_("GPU"), required=False, max_length=40, help_text=_("For example V100."))
    gpus = forms.IntegerField(label=_("GPUs a machine"), min_value=1, required=False)
    product = forms.ChoiceField(label=_("Product"), required=False)
    regions = forms.MultipleChoiceField(
        label=_("Regions allowed"), required=False, widget=forms.CheckboxSelectMultiple
    )
    zones = NamesField(
        label=_("Zones allowed"), required=False, help_text=_("Empty: every zone of the regions.")
    )
    home_zone = forms.CharField(
        label=_("Home zone"),
        required=False,
        max_length=80,
        help_text=_("Where it runs today; savings compare with it."),
    )
    earliest = MomentField(label=_("Earliest start"), required=False)
    slack_hours = forms.FloatField(
        label=_("May wait, hours"),
        min_value=0,
        max_value=744,
        required=False,
        help_text=_("Or give a deadline."),
    )
    deadline = MomentField(label=_("Deadline"), required=False)
    repeat = forms.CharField(
        label=_("Repeats on"), required=False, max_length=40,
        help_text=_("daily, or the weekdays on which it is due: mon-fri; sat,sun."),
    )  # fmt: skip
    done_by = forms.CharField(
        label=_("Done by"), required=False, max_length=5, help_text=_("Local time, for example 08:00.")
    )
    timezone = forms.CharField(label=_("On the clock of"), required=False, max_length=60)
    interruptible = forms.BooleanField(label=_("May be interrupted"), required=False)
    splittable = forms.BooleanField(label=_("Resumes from checkpoints"), required=False)
    checkpoint_minutes = forms.FloatField(label=_("Checkpoint every, minutes"), min_value=0.1, required=False)
    restart_minutes = forms.FloatField(label=_("A restart costs, minutes"), min_value=0, required=False)
    hazard_per_hour = forms.FloatField(
        label=_("Interruptions an hour"), min_value=0, required=False,
        help_text=_("Measured by you; empty: the bands that are loaded."),
    )  # fmt: skip
    data_gib = forms.FloatField(label=_("Data that must be there, GiB"), min_value=0, required=False)
    data_region = forms.CharField(label=_("Region of the data"), required=False, max_length=40)
    discount_pct = forms.FloatField(
        label=_("Negotiated discount, %"), min_value=0, max_value=100, required=False,
        help_text=_("Applies to on-demand, never to Spot."),
    )  # fmt: skip

    def __init__(self, *args: Any, known: Choices, zone: ZoneInfo, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known, self.zone = known, zone
        # What is not loaded may still be asked for by a link or a saved workload: the service says what is.
        for name, loaded in (("regions", known.regions()), ("product", known.products)):
            asked = [word for word in self._asked(name) if NAME_OR_PRODUCT.fullmatch(word)]
            words = dict.fromkeys([*loaded, *asked])
            self.fields[name].choices = [(word, word) for word in words]  # type: ignore[attr-defined]
        self.fields["types"].widget.attrs["list"] = "known-types"
        plain_limits(self)
        self.fields["timezone"].help_text = _("Empty: %(zone)s.") % {"zone": zone.key}
        self.fields["timezone"].widget.attrs["list"] = "known-zones"
        for name in ("earliest", "deadline"):
            self.fields[name].help_text = _("Time zone: %(zone)s.") % {"zone": zone.key}
        for name, field in self.fields.items():
            if self.is_bound and name in self.errors:
                field.widget.attrs["aria-invalid"] = "true"

    def _asked(self, name: str) -> list[str]:
        data = self.data
        return data.getlist(name) if isinstance(data, QueryDict) else []

    def clean(self) -> dict[str, Any]:
        """One of types and sizes, at most one of slack and deadline; names the field and the way out."""
        data: dict[str, Any] = super().clean() or {}
        sized = any(data.get(name) for name in ("min_vcpu", "min_memory_gib", "gpu", "gpus"))
        if data.get("types") and sized:
            self.add_error("types", gettext("Give instance types or minimum sizes, not both."))
        if not data.get("types") and not sized and "types" not in self.errors:
            self.add_error("types", gettext("Name a type, or give a minimum of vCPU, memory or GPUs."))
        if data.get("slack_hours") is not None and data.get("deadline"):
            self.add_error("deadline", gettext("Give the hours it may wait or a deadline, not both."))
        if bool(data.get("repeat")) != bool(data.get("done_by")):
            missing = "done_by" if data.get("repeat") else "repeat"
            self.add_error(missing, gettext("Give both repeat and done-by."))
        if data.get("repeat") and data.get("deadline"):
            self.add_error("deadline", gettext("Repeating work has hours it may wait, not a deadline."))
        if data.get("data_gib") and not data.get("data_region"):
            self.add_error("data_region", gettext("Say in which region the data lies."))
        return data

    def question(self) -> dict[str, Any]:
        """The clean values as `advise_launch` takes them; what was left empty is left out."""
        given = {k: v for k, v in self.cleaned_data.items() if v not in (None, "", [])}
        given.setdefault("count", 1)
        if given.get("repeat"):
            given.setdefault("timezone", self.zone.key)
        else:
            given.pop("timezone", None)
        given.setdefault("product", self.known.default_product())
        given.setdefault("regions", self.known.regions((given.get("types") or [None])[0])[:4])
        if "deadline" not in given:
            given.setdefault("slack_hours", 0.0)
        return given


def run_defaults(known: Choices) -> dict[str, Any]:
    """The example that the page answers before anybody has asked: eight hours on the liveliest type."""
    kind = known.default_type()
    return {
        "hours": "8", "count": "1", "types": kind, "product": known.default_product(),
        "regions": known.regions(kind)[:4], "slack_hours": "24", "interruptible": "on",
    }  # fmt: skip


def run_fields_of(question: Mapping[str, Any], zone: ZoneInfo) -> dict[str, str | list[str]]:
    """The form's fields for a question of `advise_launch`: what a saved workload fills in."""
    fields: dict[str, str | list[str]] = {}
    for name, value in question.items():
        if name not in RunForm.base_fields or value is None or value is False:
            continue
        if value is True:
            fields[name] = "on"
        elif isinstance(value, list | tuple):
            fields[name] = list(value) if name == "regions" else ", ".join(value)
        elif isinstance(value, datetime):
            fields[name] = _local_text(value, zone)
        else:
            fields[name] = f"{value:.12g}" if isinstance(value, float) else str(value)
    return fields


def _local_text(at: datetime, zone: ZoneInfo) -> str:
    """What a date field shows; with the offset where the local minute alone would be another instant."""
    text = at.astimezone(zone).strftime(MOMENT)
    same = datetime.fromisoformat(text).replace(tzinfo=zone) == at and not at.astimezone(zone).fold
    return text if same else at.isoformat()


class SaveForm(forms.Form):
    """The question of this page under a name; `fields` is its address, `workload` the one it replaces."""

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("Once in your organisation."))
    team = forms.ChoiceField(label=_("Team"), required=False)
    fields_text = forms.CharField(widget=forms.HiddenInput, max_length=8000)
    workload = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, teams: Iterable[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["team"].choices = [("", _("No team")), *teams]  # type: ignore[attr-defined]
        if self.is_bound and self.errors.get("name"):
            self.fields["name"].widget.attrs["aria-invalid"] = "true"


def command_of(question: dict[str, Any], at: datetime) -> str:
    """The same question for the command line."""
    words = ["./manage.py advise_launch"]
    for name, value in question.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            if value:
                words.append(flag)
            elif name == "interruptible":
                words.append("--no-interruptible")
        elif isinstance(value, list):
            words.append(f"{flag} {','.join(value)}")
        elif isinstance(value, datetime):
            words.append(f"{flag} {value:%Y-%m-%dT%H:%M:%S%z}")
        else:
            text = f"{value:g}" if isinstance(value, float) else str(value)
            words.append(f"{flag} {text}" if NAME.fullmatch(text) else f"{flag} '{text}'")
    return " ".join([*words, f"--at {at:%Y-%m-%dT%H:%M:%SZ}", "--json"])


class UploadForm(forms.Form):
    """A file of prices; what the file does not say may be added."""

    file = forms.FileField(
        label=_("File"),
        help_text=_("JSON, JSON lines, text lines, CSV or Parquet; plain, gz, xz, zst or tar."),
    )
    region = forms.CharField(
        label=_("Region"), required=False, max_length=40, help_text=_("Only where the file does not name it.")
    )


class PathForm(forms.Form):
    """A file or folder on the server, below one of the folders that the operator opened."""

    path = forms.CharField(
        label=_("Path on the server"), max_length=1000, help_text=_("A file, a folder or a pattern with *.")
    )
    region = forms.CharField(label=_("Region"), required=False, max_length=40)


class FeedForm(forms.Form):
    """A live AWS feed."""

    name = forms.CharField(label=_("Name"), max_length=100)
    regions = NamesField(label=_("Regions"), help_text=_("For example us-east-1, eu-west-1."))
    instance_types = NamesField(label=_("Instance types"), required=False, help_text=_("Empty: all."))
    products = forms.CharField(
        label=_("Products"), required=False, help_text=_("Separated by ;. Empty: all.")
    )
    minutes = forms.IntegerField(label=_("Ask every, minutes"), min_value=5, max_value=1440, initial=15)
    role_arn = forms.CharField(
        label=_("Role to take"),
        required=False,
        max_length=200,
        help_text=_("Empty: the credentials of the server."),
    )
    external_id = forms.CharField(label=_("External id"), required=False, max_length=200)
    account = forms.RegexField(
        r"^[0-9]{12}$", label=_("Account"), required=False, help_text=_("12 digits; zone names belong to it.")
    )


class ProfileForm(forms.Form):
    """The reader's own name, language, zone and theme."""

    name = forms.CharField(label=_("Name"), max_length=150, required=False)
    language = forms.ChoiceField(label=_("Language"), required=False)
    time_zone = forms.ChoiceField(label=_("Time zone"), help_text=_("All times are shown in it."))
    theme = forms.ChoiceField(label=_("Theme"))

    def __init__(self, *args: Any, languages: Any, zones: list[str], themes: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["language"].choices = [("", _("As the browser")), *languages]  # type: ignore[attr-defined]
        self.fields["time_zone"].choices = [(z, z) for z in zones]  # type: ignore[attr-defined]
        self.fields["theme"].choices = themes  # type: ignore[attr-defined]


class KeyForm(forms.Form):
    """A new API key."""

    name = forms.CharField(
        label=_("Name"), max_length=100, help_text=_("Where it is used, for example nightly CI.")
    )
    scopes = forms.MultipleChoiceField(label=_("What it may do"), widget=forms.CheckboxSelectMultiple)
    expires_days = forms.IntegerField(
        label=_("Days until it expires"), min_value=1, max_value=365, initial=90
    )

    def __init__(self, *args: Any, scopes: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain_limits(self)
        self.fields["scopes"].choices = scopes  # type: ignore[attr-defined]


class InviteForm(forms.Form):
    """A new member."""

    email = forms.EmailField(label=_("E-mail address"))
    role = forms.ChoiceField(label=_("Role"))

    def __init__(self, *args: Any, roles: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = roles  # type: ignore[attr-defined]
