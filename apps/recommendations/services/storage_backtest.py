"""Back-test of storage policies: files of reads in, every policy's cost against Standard and the optimum
out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.recommendations.services.document import Document, evidence, rounded
from apps.storage.selectors.prices import terms_of
from finops.engine.storage.backtest import backtest
from finops.engine.storage.bill import StorageError
from finops.engine.storage.rates import Rates, rates
from finops.engine.storage.reads import reads_from_days
from finops.engine.workload import WorkloadError
from finops.frames.storage_classes import INTELLIGENT
from finops.providers.files.object_reads import read_days

# Sources of reads tell no sizes: small, middle and large objects, each a third of the bytes.
OBJECT_BYTES = (1 << 20, 1 << 26, 1 << 32)
# A day with a megabyte read of an object counts as a read of it.
ACCESS_BYTES = 1_000_000


def backtest_storage(
    *,
    paths: Sequence[str],
    access_bytes: int = ACCESS_BYTES,
    object_bytes: int | None = None,
    decide_until: date | None = None,
    provider: str = "aws",
    region: str = "us-east-1",
    at: datetime | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Document:
    """The document of `backtest_storage`. Raises WorkloadError (wrong input), UnreadableError (no reads)."""
    moment = at or timezone.now()
    sizes = (object_bytes,) if object_bytes is not None else OBJECT_BYTES
    days = read_days(paths)
    try:
        by_size = {size: _rates(provider, region, moment.date(), size) for size in sizes}
        reads = reads_from_days(days.frame, access_bytes=access_bytes)
        since = reads.day_of(decide_until) if decide_until else 0
    except StorageError as error:
        raise WorkloadError(error.field, str(error)) from error
    found = backtest(reads, by_size, since=since, tell=tell)
    counted: dict[str, Any] = {
        "rows_read": days.rows_read,
        "rejected": days.rejected,
        "falls": days.falls,
        "rejections": [
            {"file": r.file, "row": r.row, "field": r.field, "reason": r.reason} for r in days.rejections
        ],
        "objects": len(reads.keys),
        "days": reads.days,
        "from": (reads.first + timedelta(days=since)).isoformat(),
        "to": (reads.first + timedelta(days=reads.days)).isoformat(),
        "reads": int(reads.read[:, since:].sum()),
        "access_bytes": access_bytes,
        "object_bytes": list(sizes),
    }
    return {
        "policies": {
            name: {
                "cost_share_of_standard": rounded(one.cost_share_of_standard),
                "ratio_to_optimum": rounded(one.ratio_to_optimum),
            }
            for name, one in found.items()
        },
        "data": counted,
        "evidence": evidence({}, moment, later_prices=None, prices=f"{provider} {region}"),
    }


def _rates(provider: str, region: str, on: date, size: int) -> Rates:
    terms = terms_of(provider, region, on, organisation=None)
    if terms is None:
        raise WorkloadError(
            "region",
            _("No storage prices are known for %(place)s: enter them under Storage, Prices.")
            % {"place": f"{provider} {region}"},
        )
    return rates(terms.classes, terms.tiers.get(INTELLIGENT, ()), terms.moves, size)
