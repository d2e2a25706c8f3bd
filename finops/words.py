"""gettext for modules that the pipeline client takes along: without Django, so in English."""

from __future__ import annotations

try:
    from django.conf import settings
    from django.utils import translation
except ModuleNotFoundError:  # in the client alone
    settings = None  # type: ignore[assignment]


def gettext(message: str) -> str:
    """The text in the language in force; as it is where no Django is set up."""
    if settings is None or not settings.configured:
        return message
    return translation.gettext(message)
