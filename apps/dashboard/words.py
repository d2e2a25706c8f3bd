"""Small pieces of language that several pages use."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from django.utils.translation import get_language, gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

NUMBER_WORDS = (
    _("no"),
    _("one"),
    _("two"),
    _("three"),
    _("four"),
    _("five"),
    _("six"),
    _("seven"),
    _("eight"),
    _("nine"),
    _("ten"),
    _("eleven"),
    _("twelve"),
    _("thirteen"),
    _("fourteen"),
    _("fifteen"),
)
DAY_NAMES = (_("Mon"), _("Tue"), _("Wed"), _("Thu"), _("Fri"), _("Sat"), _("Sun"))

# Sentences of the engine, which knows no Django: listed here to be collected; `_(template) % values` where
# they are shown. A test keeps the list equal to the engine's.
ENGINE_MESSAGES = (
    gettext_noop(
        "Unchanged for %(days)s days (since %(since)s) while the other zones changed %(moves)s times."
    ),
    gettext_noop(
        "At %(share)s %% of the on-demand price since %(since)s; the other zones are at %(others)s %%."
    ),
    gettext_noop(
        "%(factor)s times the price of the other zones since %(since)s; no list price to compare with."
    ),
    gettext_noop("Spot costs %(factor)s times the on-demand price."),
    gettext_noop("Prices are unknown for %(hours)s h, from %(since)s."),
    gettext_noop("Prices are unknown for %(hours)s h in %(count)s gaps, the first from %(since)s."),
    gettext_noop(
        "%(zone)s is a zone name beside zone ids: without the account's map one zone may count twice."
    ),
    gettext_noop("%(product)s differs by %(differs)s %% from its (Amazon VPC) name: they are two markets."),
    gettext_noop(
        "%(product)s costs %(share)s %% of Linux on the same machine; a licence cannot make it cheaper."
    ),
    gettext_noop("%(count)s prices are not above 0; no price is not a free one."),
    gettext_noop(
        "Off-peak is %(start)s to %(end)s every day (%(zone)s): %(saving)s %% under the weekly mean."
    ),
    gettext_noop("Off-peak is %(start)s to %(end)s (%(zone)s): %(saving)s %% under the weekly mean."),
    gettext_noop("Cannot judge: %(weeks)s of %(needed)s whole weeks of prices are known."),
    gettext_noop("No off-peak hour: what one week shows, the other weeks do not repeat."),
    gettext_noop("No off-peak hour to rely on: it did not hold or could not be used in later weeks."),
    gettext_noop("No off-peak hour: time of week moves the price by %(moved)s %%."),
    gettext_noop("Cannot judge: too few whole weeks of prices for %(hours)s."),
    gettext_noop("True here: %(hours)s costs %(ratio)s times the other hours (%(low)s-%(high)s)."),
    gettext_noop(
        "False here: %(hours)s costs %(ratio)s times the other hours (%(low)s-%(high)s), not %(claimed)s."
    ),
    gettext_noop(
        "Cannot judge: %(hours)s costs %(low)s-%(high)s times the other hours, claimed are %(claimed)s."
    ),
)


def count_word(count: int) -> str:
    """`eleven` up to fifteen, digits beyond."""
    return str(NUMBER_WORDS[count]) if 0 <= count < len(NUMBER_WORDS) else str(count)


def capital(text: str) -> str:
    """The sentence with a capital first letter; Chinese has none."""
    return text[:1].upper() + text[1:]


def lang() -> str:
    """The language in force."""
    return get_language() or "en"


@cache
def zone_names() -> tuple[str, ...]:
    """Names of all time zones, sorted; to find them takes 180 ms of reading files."""
    return tuple(sorted(zone for zone in available_timezones() if "/" in zone or zone == "UTC"))


def day_names() -> list[str]:
    """Days of the week, Monday first."""
    return [str(name) for name in DAY_NAMES]


def listed(names: list[str], most: int = 3) -> str:
    """`us-east-1, us-west-2 and 2 more`."""
    if len(names) <= most:
        return ", ".join(names)
    return gettext("%(some)s and %(count)d more") % {
        "some": ", ".join(names[: most - 1]),
        "count": len(names) - most + 1,
    }


def joined(*parts: str) -> str:
    """Sentences one after the other: with a blank between them, in Chinese without."""
    gap = "" if lang().startswith("zh") else " "
    return gap.join(part for part in parts if part)
