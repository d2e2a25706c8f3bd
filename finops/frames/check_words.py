"""Numbers and documents of a cost check's side files (usage, policies): YAML or JSON, every scalar as text.

Machine files have a point and no grouping; a file may state a `locale` for the numbers that people typed
into it. Without one, a number that can mean two things ("1,234") is refused, never guessed.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from finops.frames.cost_items import CheckInputError, Range
from finops.text.numbers import NumberError, parse_decimal

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 12
MOST = Decimal(10) ** 15


def read_words(content: bytes, *, file: str) -> dict[str, Any]:
    """The mapping of a small YAML or JSON file. Raises CheckInputError."""
    if len(content) > MAX_BYTES:
        raise CheckInputError(f"larger than {MAX_BYTES >> 20} MiB", file=file)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CheckInputError("not UTF-8 text", file=file) from error
    found = _loaded(text, file)
    if found in (None, ""):
        return {}
    if not isinstance(found, dict):
        raise CheckInputError("not a mapping of names to values", file=file)
    return found


def _loaded(text: str, file: str) -> Any:
    """Scalars stay text, so that 0.1 is exact; aliases are refused: they can blow a small file up."""
    import yaml  # the client reads plans where it is not installed

    try:
        for event in yaml.parse(text, Loader=yaml.CBaseLoader):
            if isinstance(event, yaml.AliasEvent):
                raise CheckInputError("aliases (*name) are not taken", file=file)
        return yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506 (it makes text, lists and mappings only)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = str(getattr(error, "problem", None) or "cannot be read")
        told = f"{said}, line {mark.line + 1}" if mark else said
        raise CheckInputError(f"not YAML or JSON: {told}", file=file) from error
    except RecursionError as error:
        raise CheckInputError("nested too deep", file=file) from error


def check_whole_text(document: Any, *, file: str) -> None:
    """Raises CheckInputError for null characters and halves of characters, which no database keeps."""
    try:
        text = json.dumps(document, ensure_ascii=False)
        text.encode()
    except (UnicodeEncodeError, TypeError) as error:
        raise CheckInputError("holds half a character (a lone surrogate)", file=file) from error
    except RecursionError as error:
        raise CheckInputError("nested too deep", file=file) from error
    if "\\u0000" in text:
        raise CheckInputError("holds a null character", file=file)


def number(value: Any, *, locale: str, file: str, address: str, field: str) -> Decimal:
    """A finite number of 0 or more. Raises CheckInputError, also for one that can mean two things."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise CheckInputError("not a number", file=file, address=address, field=field)
    try:
        found = parse_decimal(value, locale or None) if isinstance(value, str) else Decimal(repr(value))
    except (NumberError, ArithmeticError) as error:
        raise CheckInputError(str(error), file=file, address=address, field=field) from error
    if not found.is_finite() or found < 0 or found > MOST:
        raise CheckInputError("out of range", file=file, address=address, field=field)
    return found


def number_range(value: Any, *, locale: str, file: str, address: str, field: str) -> Range:
    """One number, or a mapping of low, expected and high. Raises CheckInputError."""
    told = {"locale": locale, "file": file, "address": address, "field": field}
    if not isinstance(value, dict):
        return Range.of(number(value, **told))
    if set(value) != {"low", "expected", "high"}:
        raise CheckInputError("give low, expected and high", file=file, address=address, field=field)
    found = Range(*(number(value[name], **told) for name in ("low", "expected", "high")))
    if not found.low <= found.expected <= found.high:
        raise CheckInputError("not low <= expected <= high", file=file, address=address, field=field)
    return found
