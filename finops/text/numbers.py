"""Decimals as people type and read them, for forms and pages, and as machines do (`decimal_text`).

Bills, CSV and JSON have fixed rules: a point, no grouping.

The separators come from the stated locale. Without one a number is taken only if it can mean one thing:
"12.5" and "1,234.56" can, "1,234" cannot. A separator in an impossible place is refused and never dropped:
under "en" the text "10,00" is an error, not 1000.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal


class NumberError(ValueError):
    """`code` is "ambiguous" or "invalid"; the text says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Separators:
    """`decimal` is written, `groups` are all read and the first is written."""

    decimal: str
    groups: tuple[str, ...]


POINT = Separators(".", (",",))
COMMA = Separators(",", (".",))
SPACE = Separators(",", ("\u202f", "\u00a0", " "))
APOSTROPHE = Separators(".", ("’", "'"))
# From Unicode CLDR (numbers, symbols); a locale not listed goes by its language, and an unknown one
# states nothing.
LOCALES: dict[str, Separators] = {
    "en": POINT,
    "zh": POINT,
    "ja": POINT,
    "ko": POINT,
    "de": COMMA,
    "de-ch": APOSTROPHE,
    "de-li": APOSTROPHE,
    "it-ch": APOSTROPHE,
    "es": COMMA,
    **{f"es-{region}": POINT for region in ("mx", "us", "pr", "do", "gt", "hn", "ni", "pa", "pe", "sv")},
    "it": COMMA,
    "nl": COMMA,
    "pt": COMMA,
    "da": COMMA,
    "fr": SPACE,
    "pl": SPACE,
    "sv": SPACE,
    "nb": SPACE,
    "cs": SPACE,
}
# Where the rules are not those of the language, or changed between editions: they state nothing.
UNSTATED = frozenset(
    {
        *(f"en-{region}" for region in ("at", "be", "ch", "de", "dk", "fi", "nl", "se", "si", "za", "150")),
        *("es-419", "es-cu", "fr-ch", "fr-lu"),
    }
)
_MINUS = {"-": -1, "\u2212": -1, "+": 1}
_PLAIN = re.compile(r"[0-9]+")


def decimal_text(amount: Decimal | None) -> str | None:
    """The exact digits for JSON and files: no exponent, no needless zeros; None stays None.

    >>> decimal_text(Decimal("1.50")), decimal_text(Decimal("1E+2")), decimal_text(Decimal("-0.00"))
    ('1.5', '100', '0')
    """
    if amount is None:
        return None
    text = format(amount, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def separators_of(locale: str | None) -> Separators | None:
    """The separators of `de-CH`, `zh_Hans`, `en`; None for None and for a locale that is not known."""
    if not locale:
        return None
    name = locale.replace("_", "-").lower()
    if name in UNSTATED:
        return None
    return LOCALES.get(name) or LOCALES.get(name.partition("-")[0])


def _read(digits: str, separators: Separators) -> Decimal | None:
    """The unsigned number under these rules, None where they do not allow it."""
    whole, mark, fraction = digits.partition(separators.decimal)
    if mark and not _PLAIN.fullmatch(fraction):
        return None
    for group in separators.groups:
        if group in whole:
            first, *rest = whole.split(group)
            if not re.fullmatch("[1-9][0-9]{0,2}", first) or not all(
                re.fullmatch("[0-9]{3}", p) for p in rest
            ):
                return None
            whole = first + "".join(rest)
    if not _PLAIN.fullmatch(whole):
        return None
    return Decimal(f"{whole}.{fraction}" if mark else whole)


def parse_decimal(text: str, locale: str | None) -> Decimal:
    """The number that somebody typed. Raises NumberError: "ambiguous" without a locale, "invalid" else.

    >>> parse_decimal("1.234,56", "de"), parse_decimal("1'234.50", "de-CH")
    (Decimal('1234.56'), Decimal('1234.50'))
    """
    body = text.strip()
    sign = _MINUS.get(body[:1], 0)
    digits = body[1:].lstrip() if sign else body
    stated = separators_of(locale)
    readings = [stated] if stated else [POINT, COMMA, SPACE, APOSTROPHE]
    found = {value for rules in readings if (value := _read(digits, rules)) is not None}
    if len(found) > 1:
        raise NumberError("ambiguous", f"{text!r} can mean {' or '.join(str(v) for v in sorted(found))}")
    if not found:
        raise NumberError("invalid", f"{text!r} is not a number here")
    return found.pop().copy_sign(Decimal(-1 if sign < 0 else 1))


def format_decimal(value: Decimal, locale: str | None, *, places: int) -> str:
    """The number for a page: rounded half up once, as everywhere, grouped, with U+2212 as its minus.

    >>> format_decimal(Decimal("12.5"), "de", places=2), format_decimal(Decimal("-1234.5"), "en", places=2)
    ('12,50', '−1,234.50')
    """
    rules = separators_of(locale) or POINT
    rounded = value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    text = f"{abs(rounded):,f}".replace(",", "\0").replace(".", rules.decimal).replace("\0", rules.groups[0])
    return f"\u2212{text}" if rounded < 0 else text
