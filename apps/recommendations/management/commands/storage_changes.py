"""`storage_changes`: changes of lifecycle rules, who approved them, what came of them; tries one.

Approving and asking need a person who is signed in, or REST: the command line knows no person.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.recommendations.management.inbox_verb import InboxVerb
from apps.recommendations.models import ChangeState
from apps.recommendations.selectors.storage import change_find, change_list
from apps.recommendations.services.storage_applying import change_trial
from apps.recommendations.services.storage_words import change_detail


class Command(InboxVerb):
    """All changes, or one."""

    help = "Show changes of lifecycle rules with diff and approvals; --dry-run tries one, writing nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which of them."""
        super().add_arguments(parser)
        parser.add_argument("change", nargs="?", type=int, help=_("one change"))
        parser.add_argument("--state", default="", choices=ChangeState.values)
        parser.add_argument("--dry-run", action="store_true", help=_("ask the bucket; nothing is written"))

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"changes"}`."""
        number = options["change"]
        if number is None:
            if options["dry_run"]:
                raise ValidationError({"change": _("Name the change to try.")})
            rows = change_list(organisation, options["state"]).prefetch_related("approvals__user")
            return {"changes": [change_detail(row) for row in rows]}
        row = change_find(organisation, number)
        if row is None:
            raise ValidationError({"change": _("There is no such change.")})
        if options["dry_run"]:
            change_trial(change=row, actor=Actor.system("command line"), now=now)
        return {"changes": [change_detail(row)]}

    def show(self, document: dict[str, Any]) -> None:
        """A line a change, its last word below."""
        for one in document["changes"]:
            self.stdout.write(
                f"{one['id']:>6}  {one['state']}  {one['bucket']}  {', '.join(one['rules'])}  "
                f"{one['requested_by']}"
            )
            for text in (one["message"], (one["dry_run"] or {}).get("reason")):
                if text:
                    self.stdout.write(f"        {text}")
