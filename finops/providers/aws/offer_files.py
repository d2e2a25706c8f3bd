"""Which of our readers a document of commitments on offer is for, and what it says."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import date, datetime
from itertools import chain, islice
from typing import Any

from finops.frames.reserved_terms import ReservedTerm
from finops.providers.aws.files import MAX_JSON_BYTES, json_documents
from finops.providers.aws.offer_tables import is_offers_table, read_offers_csv
from finops.providers.aws.offers import PREAMBLE_LINES, is_offer_header, is_offer_json
from finops.providers.aws.reading import Reading
from finops.providers.aws.reserved_lists import read_reserved_csv, read_reserved_json
from finops.providers.aws.reserved_offers import OFFERINGS, is_offerings, read_offerings
from finops.providers.aws.reserved_terms import is_terms_table, read_terms_csv
from finops.providers.aws.savings_plans import (
    RESULTS,
    is_plan_answer,
    is_plan_list,
    read_plan_list,
    read_plan_rates,
)

KNOWN = (
    "an answer of describe-reserved-instances-offerings or describe-savings-plans-offering-rates, a price "
    "list of EC2 or of savings plans, or a table of offers or terms"
)


def offers_of(
    name: str, data: bytes, *, seen_at: datetime, region: str = "", listed_on: date | None = None
) -> Reading[Any]:
    """Offers, terms and plan rates of one or several JSON documents, or of a table."""
    if data[:100].lstrip()[:1] not in {b"{", b"["}:
        reading = _table(name, data, seen_at=seen_at, region=region, listed_on=listed_on)
    elif len(data) > MAX_JSON_BYTES:
        return Reading.unreadable(f"JSON above {MAX_JSON_BYTES >> 20} MiB: import the CSV of the same offer")
    else:
        reading = _documents(data, seen_at, region)
    if not reading.rows and not reading.refused:
        about = ", ".join(f"{kind} ({count})" for kind, count in reading.ignored.most_common(3))
        reading.refuse(None, "", f"nothing on offer in it: {about or f'it is not {KNOWN}'}")
    return reading


def _documents(data: bytes, seen_at: datetime, region: str) -> Reading[Any]:
    documents, problem = json_documents(data)
    if len(documents) == 1 and isinstance(documents[0], list):
        documents = documents[0]
    if problem or not documents:
        return Reading.unreadable(problem or "empty")
    whole: Reading[Any] = Reading()
    row = 1
    for document in documents:
        found = _document(document, seen_at, region, row)
        if found is None:
            return Reading.unreadable(f"JSON, but not {KNOWN}", OFFERINGS)
        part, size = found
        whole.rows += part.rows
        whole.refused += part.refused
        whole.ignored += part.ignored
        row += size
    return whole


def _document(document: Any, seen_at: datetime, region: str, row: int) -> tuple[Reading[Any], int] | None:
    """(what it says, its records); None: it is none of what is known."""
    if is_offerings(document):
        size = len(document[OFFERINGS])
        return read_offerings(document, seen_at=seen_at, region=region, first_row=row), size
    if is_plan_answer(document):
        return read_plan_rates(document, seen_at=seen_at, first_row=row), len(document[RESULTS])
    if is_plan_list(document):
        return read_plan_list(document), 0
    if is_offer_json(document) and isinstance(document["products"], Mapping):
        return read_reserved_json(document), 0
    return None


def _table(name: str, data: bytes, *, seen_at: datetime, region: str, listed_on: date | None) -> Reading[Any]:
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    try:
        head = list(islice(lines, PREAMBLE_LINES))
        if any(is_offer_header(line) for line in head):
            return read_reserved_csv(chain(head, lines))
        columns = next(csv.reader(head[:1]), [])
        if is_terms_table(columns):
            return read_terms_csv(chain(head, lines), name=name, listed_on=listed_on)
        if is_offers_table(columns):
            return read_offers_csv(chain(head, lines), seen_at=seen_at, region=region)
    except UnicodeDecodeError:
        return Reading.unreadable("neither JSON nor text in UTF-8")
    except csv.Error as error:
        return Reading.unreadable(f"no CSV: {error}")
    return Reading()


def terms_of(name: str, data: bytes, *, listed_on: date | None = None) -> Reading[ReservedTerm]:
    """Terms of a price table or an offer file; a document of anything else has none."""
    if data[:100].lstrip()[:1] in {b"{", b"["}:
        documents, problem = json_documents(data) if len(data) <= MAX_JSON_BYTES else ([], "")
        one = documents[0] if len(documents) == 1 and not problem else None
        return read_reserved_json(one) if is_offer_json(one) and isinstance(one, dict) else Reading()
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    try:
        head = list(islice(lines, PREAMBLE_LINES))
        if any(is_offer_header(line) for line in head):
            return read_reserved_csv(chain(head, lines))
        if is_terms_table(next(csv.reader(head[:1]), [])):
            return read_terms_csv(chain(head, lines), name=name, listed_on=listed_on)
    except UnicodeDecodeError:
        return Reading.unreadable("neither JSON nor text in UTF-8")
    except csv.Error as error:
        return Reading.unreadable(f"no CSV: {error}")
    return Reading()
