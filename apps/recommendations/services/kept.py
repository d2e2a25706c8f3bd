"""Answers that were given, each a row: evidence for later, and the cache of the same question on the same
data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils.translation import get_language

from apps.accounts.models import Organisation
from apps.recommendations.models import Advice
from finops.engine.rates import NegotiatedRate
from finops.engine.workload import Workload
from finops.fingerprint import code_fingerprint

# What an answer rests on besides the lake: reference data in the database, newest row of each.
_REFERENCE = (
    "SELECT coalesce((SELECT max(id) FROM prices_listprice), 0), "
    "coalesce((SELECT max(id) FROM prices_interruptionband), 0), "
    "(SELECT max(updated_at)::text FROM catalog_instancetype), "
    "coalesce((SELECT max(id) FROM ingest_rejectedrow), 0)"
)


def parameters(workload: Workload) -> dict[str, Any]:
    """The workload as JSON values."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(workload).items()
    }


def digest(
    workload: Workload,
    snapshots: Mapping[str, int],
    organisation: Organisation | None,
    *,
    schedule: Sequence[str] = (),
    rates: Sequence[NegotiatedRate] = (),
) -> str:
    """Names a question on a state of the data and the code: same digest, same answer."""
    with connection.cursor() as cursor:
        cursor.execute(_REFERENCE)
        reference = [str(value) for value in cursor.fetchone()]
    parts = [
        code_fingerprint(),
        get_language() or "",
        organisation.pk if organisation else None,
        sorted(snapshots.items()),
        reference,
        parameters(workload),
        list(schedule),
        [str(rate) for rate in rates],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def find(key: str) -> dict[str, Any] | None:
    """The document kept under a digest."""
    document: dict[str, Any] | None = (
        Advice.objects.filter(digest=key).values_list("document", flat=True).first()
    )
    return document


def store(
    key: str, document: dict[str, Any], *, workload: Workload, organisation: Organisation | None
) -> dict[str, Any]:
    """Keep an answer; of two at once the first stays, and both callers get it."""
    Advice.objects.bulk_create(
        [
            Advice(
                digest=key,
                organisation=organisation,
                at=workload.at,
                verdict=document["verdict"],
                sentence=document["sentence"],
                parameters=parameters(workload),
                document=document,
                snapshots=document["evidence"]["snapshots"],
                engine=document["evidence"]["engine"],
            )
        ],
        ignore_conflicts=True,
    )
    return find(key) or document
