"""What speaks against taking a delivery for the whole month, in words."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.billing.models import Delivery


def doubts(delivery: Delivery) -> list[str]:
    """A sentence for each note that puts the figures in doubt; none for a delivery without."""
    return [text for note in delivery.notes if (text := _text(note))]


def _text(note: dict[str, Any]) -> str:
    code = note.get("code")
    if code == "ends early":
        return _("The charges end on %(day)s, days before the file was made: it may be cut short.") % {
            "day": note["last_day"]
        }
    if code == "one part":
        return _("%(file)s looks like a first part: other parts may be missing.") % {"file": note["file"]}
    if code == "no line end":
        return _("%(file)s ends within a line: it may be cut short.") % {"file": note["file"]}
    if code == "rounded":
        return ngettext(
            "%(column)s was rounded to %(places)s places in %(n)s line.",
            "%(column)s was rounded to %(places)s places in %(n)s lines.",
            note["rows"],
        ) % {"column": note["column"], "places": note["places"], "n": note["rows"]}
    if code == "overlap":
        return _("Another report has the same account and month: the sums may count charges twice.")
    return ""
