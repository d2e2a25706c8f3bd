"""Which of our readers a document of reference data is for, and what it says.

Documents are bytes with a name. A document that is none of what was asked for comes back as one refusal
that says why.
"""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from itertools import chain, islice
from typing import Any

import orjson

from finops.frames.instance_types import InstanceTypeFacts
from finops.frames.interruption import InterruptionBand
from finops.frames.list_prices import ListPrice
from finops.providers.aws.instance_types import is_instance_types, read_instance_types
from finops.providers.aws.interruption import is_spot_advisor, read_spot_advisor
from finops.providers.aws.offers import (
    PREAMBLE_LINES,
    is_offer_header,
    is_offer_json,
    read_offer_csv,
    read_offer_json,
)
from finops.providers.aws.price_tables import read_price_csv
from finops.providers.aws.reading import Reading, date_in_name

# Parsed JSON takes about eight times its bytes of memory; the CSV of the same offer is read row by row.
MAX_JSON_BYTES = 128 * 1024 * 1024


def list_prices_of(name: str, data: bytes, *, listed_on: date | None = None) -> Reading[ListPrice]:
    """On-demand prices of an offer file (JSON or CSV) or of any CSV with a header."""
    reading = _list_prices(name, data, listed_on)
    if not reading.rows and not reading.refused:
        about = ", ".join(f"{kind} ({count})" for kind, count in reading.ignored.most_common(3))
        reading.refuse(
            None, "", f"no on-demand price of an instance hour in it{': ' if about else ''}{about}"
        )
    return reading


def _list_prices(name: str, data: bytes, listed_on: date | None) -> Reading[ListPrice]:
    if data[:100].lstrip()[:1] in {b"{", b"["}:
        if len(data) > MAX_JSON_BYTES:
            return Reading.unreadable(
                f"JSON above {MAX_JSON_BYTES >> 20} MiB: import the CSV of the same offer"
            )
        documents, problem = json_documents(data)
        if problem or len(documents) != 1:
            return Reading.unreadable(problem or "several JSON documents, no offer file")
        if not is_offer_json(documents[0]):
            return Reading.unreadable("JSON, but no offer file: it has no products and terms")
        return read_offer_json(documents[0])
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    try:
        head = list(islice(lines, PREAMBLE_LINES))
        if any(is_offer_header(line) for line in head):
            return read_offer_csv(chain(head, lines))
        return read_price_csv(chain(head, lines), name=name, listed_on=listed_on)
    except UnicodeDecodeError:
        return Reading.unreadable("neither JSON nor text in UTF-8")
    except csv.Error as error:
        return Reading.unreadable(f"no CSV: {error}")


def instance_types_of(name: str, data: bytes) -> Reading[InstanceTypeFacts]:
    """Facts of a `describe-instance-types` answer: one document, or several one after another."""
    documents, problem = json_documents(data)
    if problem:
        return Reading.unreadable(problem)
    whole: Reading[InstanceTypeFacts] = Reading()
    for document in documents:
        if not is_instance_types(document):
            return Reading.unreadable("JSON, but no answer of describe-instance-types", "InstanceTypes")
        part = read_instance_types(document)
        before = len(whole.rows) + len(whole.refused)
        whole.rows += [(row + before, facts) for row, facts in part.rows]
        whole.refused += [
            refused._replace(row=None if refused.row is None else refused.row + before)
            for refused in part.refused
        ]
    return whole


def interruption_of(name: str, data: bytes, *, as_of: date | None = None) -> Reading[InterruptionBand]:
    """Bands of the Spot Advisor's file; without `as_of` the file's name must carry its date."""
    documents, problem = json_documents(data)
    if problem or len(documents) != 1 or not is_spot_advisor(documents[0]):
        return Reading.unreadable(problem or "no Spot Advisor file: it has no ranges and spot_advisor")
    day = as_of or date_in_name(name)
    if day is None:
        return Reading.unreadable("no date: the file's name has none; name it with --as-of")
    return read_spot_advisor(documents[0], as_of=day)


def json_documents(data: bytes) -> tuple[list[Any], str]:
    """(documents one after another, "") or ([], what is wrong and where)."""
    try:
        return [orjson.loads(data)], ""
    except orjson.JSONDecodeError:
        pass
    text = _text(data)
    if text is None:
        return [], "neither JSON nor text in UTF-8"
    documents: list[Any] = []
    decoder, position = json.JSONDecoder(), 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        try:
            document, position = decoder.raw_decode(text, position)
        except ValueError as error:
            place = getattr(error, "pos", position)
            what = "cut short" if place >= len(text.rstrip()) - 1 else "no JSON"
            return [], f"{what} at character {place + 1} (line {text.count(chr(10), 0, place) + 1})"
        except RecursionError:
            return [], f"brackets too deep at character {position + 1}"
        documents.append(document)
    return documents, "" if documents else "empty file"


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
