"""What is wrong with the clock times, days and zone that somebody wrote, in the reader's language."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _


def clock_fault(error: ValueError, **times: str) -> ValidationError:
    """By field, from what the calendar says; `times`: the fields with clock times, as they were written."""
    said = str(error)
    if "time zone" in said:
        return ValidationError({"zone": _("There is no such time zone: write it like Europe/Berlin.")})
    if "weekday" in said:
        return ValidationError({"days": _("Write days such as mon-fri, or sat,sun.")})
    wrong = next((name for name, text in times.items() if text and repr(text) in said), next(iter(times)))
    if not any(times.values()):
        return ValidationError(
            {wrong: _("Write a time from which they are on, one from which they are off, or both.")}
        )
    return ValidationError({wrong: _("Write times of day such as 08:00 or 19:30.")})
