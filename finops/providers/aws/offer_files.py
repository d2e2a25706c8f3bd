"""Which of our readers a document of commitments on offer is for, and what it says."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime
from itertools import chain
from typing import Any

from finops.frames.offers import Offer
from finops.frames.reserved_terms import ReservedTerm
from finops.providers.aws.files import json_documents
from finops.providers.aws.reading import Reading
from finops.providers.aws.reserved_offers import OFFERINGS, is_offerings, read_offerings
from finops.providers.aws.reserved_terms import is_terms_table, read_terms_csv

KNOWN = "an answer of describe-reserved-instances-offerings or a table of terms"


def offers_of(
    name: str, data: bytes, *, seen_at: datetime, region: str = "", listed_on: date | None = None
) -> Reading[Any]:
    """Offers of one or several JSON answers, or terms of a table."""
    if data[:100].lstrip()[:1] not in {b"{", b"["}:
        reading = terms_of(name, data, listed_on=listed_on)
        if not reading.rows and not reading.refused:
            reading.refuse(None, "", f"nothing on offer in it: it is not {KNOWN}")
        return reading
    documents, problem = json_documents(data)
    if len(documents) == 1 and isinstance(documents[0], list):
        documents = documents[0]
    if problem or not documents:
        return Reading.unreadable(problem or "empty")
    whole: Reading[Offer] = Reading()
    row = 1
    for document in documents:
        if not is_offerings(document):
            return Reading.unreadable(f"JSON, but not {KNOWN}", OFFERINGS)
        part = read_offerings(document, seen_at=seen_at, region=region, first_row=row)
        whole.rows += part.rows
        whole.refused += part.refused
        row += len(document[OFFERINGS])
    return whole


def terms_of(name: str, data: bytes, *, listed_on: date | None = None) -> Reading[ReservedTerm]:
    """Terms of a table; a table of anything else has none."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    try:
        head = next(lines, "")
        if not is_terms_table(next(csv.reader([head]), [])):
            return Reading()
        return read_terms_csv(chain([head], lines), name=name, listed_on=listed_on)
    except UnicodeDecodeError:
        return Reading.unreadable("neither JSON nor text in UTF-8")
    except csv.Error as error:
        return Reading.unreadable(f"no CSV: {error}")
