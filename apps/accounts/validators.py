"""Validators of the accounts app."""

import zoneinfo
from functools import lru_cache

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _


@lru_cache(maxsize=1)
def time_zone_names() -> frozenset[str]:
    """Every IANA zone name this machine knows."""
    return frozenset(zoneinfo.available_timezones())


def validate_time_zone(value: str) -> None:
    """Raise ValidationError unless `value` is an IANA time zone name."""
    if value not in time_zone_names():
        raise ValidationError(
            _("%(value)s is not a time zone. Use a name like Europe/Berlin or UTC."), params={"value": value}
        )
