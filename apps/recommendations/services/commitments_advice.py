"""Which commitments to buy: bills and offers in, the document of `advise_commitments` out."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.ingest.selectors import current_snapshots
from apps.prices.selectors import on_demand_prices
from apps.recommendations.commitments_wording import pick_sentence, rule_sentence
from apps.recommendations.services.commitments_bill import BillUse
from apps.recommendations.services.commitments_demand import use_after_all
from apps.recommendations.services.commitments_document import Rows, together
from apps.recommendations.services.commitments_offers import OnOffer, on_offer
from apps.recommendations.services.commitments_rivals import Rivals, spot_means
from apps.recommendations.services.document import (
    Document,
    check_moment,
    decimal_text,
    evidence,
    iso,
    rounded,
)
from finops.engine.commitments.desk import Desk
from finops.engine.commitments.evaluate import offer_hours_left
from finops.engine.commitments.pools import PoolBook
from finops.engine.commitments.portfolio import Limits
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.scenarios import ScenarioConfig
from finops.engine.commitments.selection import Selection, advised, select, sum_of
from finops.engine.workload import WorkloadError
from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind
from finops.frames.sizes import size_table

YEAR_HOURS = 8760
LONGEST_LOOKBACK = 366
PAYMENTS = ("all-upfront", "partial-upfront", "no-upfront")
CLASSES = (OfferingClass.STANDARD, OfferingClass.CONVERTIBLE)


class ListPrices:
    """On-demand list prices at one time; remembers whether a later list had to serve."""

    def __init__(self, at: datetime) -> None:
        self._at = at
        self._found: dict[OfferKey, Decimal | None] = {}
        self.later = False
        self.currency = "USD"

    def __call__(self, key: OfferKey) -> Decimal | None:
        if key not in self._found:
            self._found[key] = self._read(key)
        return self._found[key]

    def _read(self, key: OfferKey) -> Decimal | None:
        found = on_demand_prices(
            provider=key.provider,
            region=key.region,
            product=key.platform,
            at=self._at,
            instance_types=[key.instance_type],
        ).get(key.instance_type)
        if found is None or key.tenancy != "default":
            return None
        self.later |= found.later_prices
        self.currency = found.currency
        return found.price


@dataclass(frozen=True)
class Gathered:
    """What a question about commitments rests on."""

    desk: Desk
    use: BillUse
    market: OnOffer
    rivals: Rivals
    prices: ListPrices
    snapshots: Mapping[str, int]
    lookback_days: int

    @property
    def rows(self) -> Rows:
        """Makes the rows of the answer."""
        return Rows(self.desk, self.rivals, self.market)

    def evidence(self, **more: object) -> Document:
        """What the answer rests on."""
        config = ScenarioConfig()
        return evidence(
            self.snapshots,
            self.desk.now,
            later_prices=self.prices.later or self.market.later_prices,
            price_lists=[iso(date) for date in self.market.listed_on],
            lookback_days=self.lookback_days,
            history_hours=self.desk.book.known_hours,
            scenarios={"draws": config.draws, "seed": config.seed},
            **more,
        )


def gather(
    *,
    lookback_days: int = 30,
    at: datetime | None = None,
    organisation: Organisation | None = None,
    provider: str = "aws",
    snapshots: Mapping[str, int] | None = None,
    also: Collection[OfferKey] = (),
) -> Gathered:
    """Use, prices, offers and rivals at `at`; rivals also for keys of which nothing is used (`also`). Raises
    WorkloadError (field, message).
    """
    moment = (at or timezone.now()).astimezone(UTC)
    check_moment(moment)
    if not 2 <= lookback_days <= LONGEST_LOOKBACK:
        raise WorkloadError("lookback_days", _("Out of range: %(value)s") % {"value": lookback_days})
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    end = moment.replace(minute=0, second=0, microsecond=0)
    start = end - timedelta(days=lookback_days)
    use = use_after_all(organisation=organisation, at=moment, lookback_days=lookback_days, snapshots=chosen)
    sizes, prices = size_table(provider), ListPrices(moment)
    used = [one.key for one in use.coverage.demand.uses]
    for key in (*used, *also):
        prices(key)
    market = on_offer(used=used, sizes=sizes, at=moment, provider=provider)
    listed = on_offer(used=also, sizes=sizes, at=moment, provider=provider) if also else None
    book = PoolBook(use.coverage, prices, sizes)
    spot = spot_means(used=used, start=start, end=end, snapshots=chosen, currency=prices.currency)
    known = (*market.offers, *(listed.offers if listed else ()))
    rivals = Rivals(book, known, spot, prices.currency)
    desk = Desk(book, moment, prices.currency, rivals)
    return Gathered(desk, use, market, rivals, prices, chosen, lookback_days)


def advise_commitments(
    *,
    lookback_days: int = 30,
    horizon_hours: int = YEAR_HOURS,
    max_upfront: Decimal | None = None,
    max_loss_probability: float | None = None,
    kinds: tuple[str, ...] = (),
    payments: tuple[str, ...] = (),
    classes: tuple[str, ...] = (),
    at: datetime | None = None,
    organisation: Organisation | None = None,
    provider: str = "aws",
    snapshots: Mapping[str, int] | None = None,
    with_scenarios: bool = False,
) -> Document:
    """The document; offers whose term ends beyond `horizon_hours`, or outside `kinds`, `payments`,
    `classes` (empty: all), are refused as such. `with_scenarios`: also the saving of each pick in every
    scenario. Raises WorkloadError (field, message).
    """
    if horizon_hours < 1:
        raise WorkloadError("horizon", _("Out of range: %(value)s") % {"value": horizon_hours})
    if max_upfront is not None and not (max_upfront.is_finite() and max_upfront >= 0):
        raise WorkloadError("max_upfront", _("Out of range: %(value)s") % {"value": max_upfront})
    if max_loss_probability is not None and not 0 <= max_loss_probability <= 1:
        raise WorkloadError(
            "max_loss_probability", _("Out of range: %(value)s") % {"value": max_loss_probability}
        )
    for field, given, known in (
        ("kinds", kinds, list(OfferKind)), ("payments", payments, PAYMENTS), ("classes", classes, CLASSES),
    ):  # fmt: skip
        if unknown := [one for one in given if one not in known]:
            told = _("Not known: %(value)s. Known: %(known)s.")
            raise WorkloadError(field, told % {"value": ", ".join(unknown), "known": ", ".join(known)})
    gathered = gather(
        lookback_days=lookback_days, at=at, organisation=organisation, provider=provider, snapshots=snapshots
    )
    limits = Limits(None if max_upfront is None else float(max_upfront), max_loss_probability)
    desk = replace(gathered.desk, limits=limits)
    asked, aside = _sort_out(gathered.market, desk.now, horizon_hours, kinds, payments, classes)
    selection = select(desk, asked)
    document = _document(gathered, selection, aside, horizon_hours)
    if with_scenarios:
        name = f"{iso(desk.now)} {desk.book.known_hours} {ScenarioConfig()}"
        for row, pick in zip(document["advice"], selection.picks, strict=True):
            row["scenario_set"] = hashlib.sha256(name.encode()).hexdigest()[:32]
            row["scenarios"] = [decimal_text(float(value)) for value in pick.scenarios]
    return document


def _sort_out(
    market: OnOffer,
    at: datetime,
    horizon: int,
    kinds: tuple[str, ...],
    payments: tuple[str, ...],
    classes: tuple[str, ...],
) -> tuple[list[Offer], list[tuple[Offer, Refusal]]]:
    """(offers that were asked for, the others with the reason). A savings plan has no class."""
    asked: list[Offer] = []
    aside: list[tuple[Offer, Refusal]] = []
    for offer in market.offers:
        classed = () if offer.kind is OfferKind.SAVINGS_PLAN else classes
        wanted = ((kinds, offer.kind), (payments, offer.payment), (classed, offer.offering_class))
        other = next((value for allowed, value in wanted if allowed and value not in allowed), None)
        hours = offer_hours_left(offer, at)
        if other is not None:
            aside.append((offer, refuse("left aside", what=other)))
        elif hours > horizon:
            aside.append((offer, refuse("beyond the horizon", hours=int(hours), horizon=horizon)))
        else:
            asked.append(offer)
    aside += [(offer, refuse("gone", at=iso(gone))) for offer, gone in market.gone]
    return asked, aside


def _document(
    gathered: Gathered, selection: Selection, aside: list[tuple[Offer, Refusal]], horizon: int
) -> Document:
    rows, use, desk = gathered.rows, gathered.use, gathered.desk
    demand = use.coverage.demand
    advice = [
        {
            **rows.evaluated(pick.evaluation, pick.claims),
            **rows.cash(pick.alone, pick.considered),
            "saving_alone": decimal_text(pick.alone.saving),
            "one_more_saving": rows.one_more(pick.alone, pick.considered),
            "advised": advised(pick, desk.limits),
            "reason": pick_sentence(pick),
        }
        for pick in selection.picks
    ]
    counted = [pick for pick in selection.picks if advised(pick, desk.limits)]
    bought = {id(pick.considered.offer) for pick in selection.picks}
    why = {id(offer): refusal for offer, refusal in selection.refused}
    refused = [rows.refused(offer, refusal) for offer, refusal in (*selection.refused, *aside)]
    alternatives = [
        {
            **rows.evaluated(one.alone, one.pool.pool),
            **rows.refused(one.offer, why[id(one.offer)]),
            "quantity": one.alone.quantity,
        }
        for one in selection.found
        if id(one.offer) not in bought
    ]
    return {
        "advice": advice,
        "alternatives": alternatives,
        "refused": refused,
        "total": {
            "saving": decimal_text(sum(pick.evaluation.saving for pick in counted) + 0.0),
            **together(sum_of(counted)),
            "upfront": decimal_text(sum((pick.evaluation.upfront for pick in counted), Decimal(0))),
            "currency": desk.currency,
            "count": len(counted),
            "not_advised": len(selection.picks) - len(counted),
            "rule": rule_sentence(desk.limits.loss_probability),
        },
        "use": {
            "from": iso(demand.start),
            "to": iso(demand.end),
            "known_hours": desk.book.known_hours if demand.uses else 0,
            "grain_hours": use.grain_hours,
            "free_tier_hours": rounded(use.free_hours),
            "not_judged": [{"lines": name, "hours": rounded(hours)} for name, hours in use.unread.items()],
        },
        "evidence": gathered.evidence(horizon_hours=horizon),
    }
