"""Small pieces of language that several pages use."""

from __future__ import annotations

from django.utils.translation import get_language, gettext
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


def count_word(count: int) -> str:
    """`eleven` up to fifteen, digits beyond."""
    return str(NUMBER_WORDS[count]) if 0 <= count < len(NUMBER_WORDS) else str(count)


def capital(text: str) -> str:
    """The sentence with a capital first letter; Chinese has none."""
    return text[:1].upper() + text[1:]


def lang() -> str:
    """The language in force."""
    return get_language() or "en"


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
