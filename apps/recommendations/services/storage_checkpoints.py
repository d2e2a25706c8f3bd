"""Checkpoints of a run: the document of `checkpoint_cost`, for page, command and REST."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.recommendations.services.document import Document, check_moment, decimal_text, evidence, rounded
from apps.recommendations.storage_wording import class_name
from apps.recommendations.wording import percent
from apps.storage.selectors.prices import terms_of
from finops.engine.storage.bill import StorageError
from finops.engine.storage.checkpoints import Claim, Kept, Run, by_class, claim, keep_plans
from finops.engine.storage.rates import MONTH_DAYS
from finops.engine.workload import WorkloadError
from finops.frames.storage_classes import INTELLIGENT
from finops.frames.storage_terms import StorageTerms

CLAIMED_PCT = 68.0


def checkpoint_cost(
    *,
    gib: float,
    objects: int,
    keep_months: float,
    at: datetime,
    reads_a_month: float = 0.0,
    every_hours: float = 1.0,
    run_hours: float = 240.0,
    keep_last: int = 3,
    claimed_pct: float = CLAIMED_PCT,
    provider: str = "aws",
    region: str = "us-east-1",
    organisation: Organisation | None = None,
) -> Document:
    """What one checkpoint kept for `keep_months` costs by class, whether Intelligent-Tiering saves the
    claimed part of it, and what a run's checkpoints cost by what is kept. Raises WorkloadError by field.

    `reads_a_month`: whole reads of a kept checkpoint; `claimed_pct` against Standard.
    """
    check_moment(at)
    terms = terms_of(provider, region, at.date(), organisation=organisation)
    if terms is None:
        raise WorkloadError(
            "region",
            _("No storage prices are known for %(place)s: enter them under Storage, Prices.")
            % {"place": f"{provider} {region}"},
        )
    if INTELLIGENT not in terms.classes:
        raise WorkloadError(
            "region",
            _("Intelligent-Tiering has no price for %(place)s: enter it under Storage, Prices.")
            % {"place": f"{provider} {region}"},
        )
    if not 0 < claimed_pct < 100:
        raise WorkloadError("claimed_pct", _("Between 0 and 100."))
    chance = reads_a_month / MONTH_DAYS
    try:
        kept = Kept(gib, objects, keep_months * MONTH_DAYS, chance)
        found = claim(kept, terms, claimed=claimed_pct / 100, name=INTELLIGENT)
        run = Run(gib, objects, every_hours, run_hours, keep_last, keep_months * MONTH_DAYS, chance)
        instant = [name for name, one in terms.classes.items() if one.instant]
        plans = keep_plans(run, terms, [name for name in instant if name not in terms.single_zone])
        rows = by_class(kept, terms, instant=False)
    except StorageError as error:
        raise WorkloadError(_FIELDS.get(error.field, error.field), str(error)) from error
    return {
        "sentence": claim_sentence(found, keep_months),
        "claim": {
            "claimed_pct": rounded(found.claimed * 100),
            "saving_pct": rounded(found.saving * 100),
            "holds": found.holds,
            "holds_from_months": found.from_months,
        },
        "classes": [
            {
                "class": one.storage_class,
                "name": class_name(one.storage_class),
                "storage": decimal_text(one.storage),
                "reads": decimal_text(one.reads),
                "writing": decimal_text(one.writing),
                "total": decimal_text(one.total),
                "saving_pct": rounded(None if one.saving_share is None else one.saving_share * 100),
                "instant": terms.classes[one.storage_class].instant,
                "single_zone": one.storage_class in terms.single_zone,
                "min_days": terms.classes[one.storage_class].min_days,
            }
            for one in rows
        ],
        "run": {"checkpoints": run.count, "plans": [
            {
                "keep": one.keep,
                "class": one.storage_class,
                "name": class_name(one.storage_class),
                "cost": decimal_text(one.cost),
                "gib_months": decimal_text(one.gib_months),
                "deleted_during_run": one.deleted,
                "saving_pct": rounded(one.saving_share * 100),
            }
            for one in plans
        ]},
        "input": {
            "gib": gib, "objects": objects, "keep_months": keep_months, "reads_a_month": reads_a_month,
            "every_hours": every_hours, "run_hours": run_hours, "keep_last": keep_last,
            "provider": provider, "region": region,
        },
        "currency": terms.currency,
        "evidence": evidence({}, at, later_prices=False, prices=_sources(terms)),
    }  # fmt: skip


_FIELDS = {"keep": "keep_months", "reads": "reads_a_month"}


def claim_sentence(found: Claim, months: float) -> str:
    """The answer to the claim."""
    values = {
        "saving": percent(found.saving * 100),
        "claimed": percent(found.claimed * 100),
        "months": f"{months:g}",
        "from": f"{found.from_months:g}" if found.from_months is not None else "",
    }
    if found.holds:
        told = _("Kept %(months)s months, Intelligent-Tiering saves %(saving)s: the claim holds.")
    elif found.from_months is None:
        told = _(
            "Kept %(months)s months, Intelligent-Tiering saves %(saving)s; read so often never %(claimed)s."
        )
    else:
        told = _(
            "Kept %(months)s months, Intelligent-Tiering saves %(saving)s; %(claimed)s needs %(from)s months."
        )
    return told % values


def _sources(terms: StorageTerms) -> list[str]:
    return sorted({one.source for one in terms.classes.values()})
