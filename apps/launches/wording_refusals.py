"""What a provider's code of a refusal means, in a few words; the code stands behind them where it is told."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from finops.frames.launch_errors import ANY, Meaning, launch_errors

MEANINGS = {
    Meaning.CAPACITY: gettext_lazy("no capacity"),
    Meaning.SPOT_LIMIT: gettext_lazy("the account's limit of Spot machines is reached"),
    Meaning.ON_DEMAND_LIMIT: gettext_lazy("the account's limit is reached"),
    Meaning.THROTTLED: gettext_lazy("the provider asks to wait"),
    Meaning.TOKEN_USED: gettext_lazy("the token was used before"),
    Meaning.WRONG_REQUEST: gettext_lazy("the request is wrong"),
    Meaning.OUTCOME_OPEN: gettext_lazy("no clear answer"),
}
_DENIED = gettext_lazy("not permitted")
_GONE = gettext_lazy("something that it names is not there")
# Codes that say more than their meaning asks for: the next step is the same, what a person looks at is not.
CODES = {
    "SpotMaxPriceTooLow": gettext_lazy("Spot costs more than the cap"),
    "Unsupported": gettext_lazy("not offered in this place"),
    "InsufficientFreeAddressesInSubnet": gettext_lazy("the subnet has no free address"),
    "UnauthorizedOperation": _DENIED,
    "AuthFailure": _DENIED,
    "InvalidClientTokenId": _DENIED,
    "MissingAuthenticationToken": _DENIED,
    "Forbidden": _DENIED,
    "Unauthorized": _DENIED,
    "OptInRequired": gettext_lazy("the account is not ready"),
    "PendingVerification": gettext_lazy("the account is not ready"),
    "Blocked": gettext_lazy("the account is blocked"),
    "NotReached": gettext_lazy("the place was not reached"),
    "NotSent": gettext_lazy("not sent"),
    "NotFound": _GONE,
}


def refusal_words(code: str) -> str:
    """`no capacity`; "" for a code that no table has."""
    if code in CODES:
        return str(CODES[code])
    if code.endswith((".NotFound", ".Unavailable")):
        return str(_GONE)
    # A code means the same at every provider that has it.
    found = {row.meaning for (_provider, name), row in launch_errors().items() if name == code != ANY}
    return str(MEANINGS.get(found.pop(), "")) if len(found) == 1 else ""


def refusal_text(code: str) -> str:
    """`no capacity (InsufficientInstanceCapacity)`; the code alone where nothing is known of it."""
    words = refusal_words(code)
    return _("%(words)s (%(code)s)") % {"words": words, "code": code} if words else code
