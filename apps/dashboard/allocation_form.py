"""The form of an allocation rule."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Team
from apps.billing.models import AllocationRule, RuleKind, SplitMethod
from apps.billing.services.allocation import MAX_PRIORITY, RuleFields

_SHARE = re.compile(r"^(?P<team>.+?)\s*[:=]\s*(?P<share>[0-9]+(?:[.,][0-9]+)?)\s*%?$")


class RuleForm(forms.Form):
    """A rule; shares are written one a line, `Web: 60`."""

    name = forms.CharField(label=_("Name"), max_length=100)
    priority = forms.IntegerField(
        label=_("Priority"), min_value=0, max_value=MAX_PRIORITY, initial=100,
        help_text=_("The smallest is tried first; the first rule that matches decides."),
    )  # fmt: skip
    kind = forms.ChoiceField(label=_("Looks at"), choices=RuleKind.choices)
    key = forms.CharField(
        label=_("Key"), max_length=300, required=False, help_text=_("Of the tag or cost category.")
    )
    values = forms.CharField(
        label=_("Values"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("One a line, exactly as in the bill. For a tag, empty: every value but blank."),
    )
    pattern = forms.CharField(
        label=_("Pattern of the resource"), max_length=500, required=False, strip=False,
        help_text=_("RE2 expression, searched in the resource's id: ^arn:aws:s3:::logs-"),
    )  # fmt: skip
    valid_from = forms.DateField(
        label=_("From"), required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    valid_to = forms.DateField(
        label=_("To, included"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    team = forms.ChoiceField(label=_("To the team"), required=False)
    split = forms.ChoiceField(label=_("Or divided"), choices=SplitMethod.choices, required=False)
    shares = forms.CharField(
        label=_("Teams that share"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("One a line; for fixed shares with percent, Web: 60. Empty: all teams."),
    )

    def __init__(self, *args: Any, teams: list[Team], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.teams = {team.slug: team for team in teams}
        choices = [("", gettext("none")), *((team.slug, team.name) for team in teams)]
        self.fields["team"].choices = choices  # type: ignore[attr-defined]
        for name, field in self.fields.items():
            if self.is_bound and name in self.errors:
                field.widget.attrs["aria-invalid"] = "true"

    def clean_shares(self) -> list[tuple[Team, Decimal | None]]:
        """Teams by name or slug with their share of 1."""
        known = {**{team.name.casefold(): team for team in self.teams.values()}, **self.teams}
        found: list[tuple[Team, Decimal | None]] = []
        for line in self.cleaned_data["shares"].splitlines():
            if not line.strip():
                continue
            match = _SHARE.match(line.strip())
            name = (match["team"] if match else line).strip()
            team = known.get(name.casefold())
            if team is None:
                raise forms.ValidationError(gettext("No team %(name)s.") % {"name": name[:100]})
            try:
                share = Decimal(match["share"].replace(",", ".")) / 100 if match else None
            except InvalidOperation as error:
                raise forms.ValidationError(gettext("Not a number: %(text)s") % {"text": line}) from error
            found.append((team, share))
        return found

    def rule_fields(self) -> RuleFields:
        """The clean values for the service."""
        given = dict(self.cleaned_data)
        return RuleFields(
            **{
                **given,
                "values": given["values"].splitlines(),
                "team": self.teams.get(given["team"]),
            }
        )


def initial_of(rule: AllocationRule) -> dict[str, Any]:
    """The form's texts of a rule."""
    shares = []
    for share in rule.shares.all():
        percent = "" if share.share is None else f": {format((share.share * 100).normalize(), 'f')}"
        shares.append(f"{share.team.name}{percent}")
    return {
        "name": rule.name, "priority": rule.priority, "kind": rule.kind, "key": rule.key,
        "values": "\n".join(rule.values), "pattern": rule.pattern, "valid_from": rule.valid_from,
        "valid_to": rule.valid_to, "team": rule.team.slug if rule.team else "", "split": rule.split,
        "shares": "\n".join(shares),
    }  # fmt: skip
