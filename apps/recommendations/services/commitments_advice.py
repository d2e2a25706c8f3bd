"""Which commitments to buy: bills and offers in, the document of `advise_commitments` out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.ingest.selectors import current_snapshots
from apps.prices.selectors import on_demand_prices
from apps.recommendations.commitments_wording import pick_sentence, refusal_sentence
from apps.recommendations.services.commitments_bill import BillUse, bill_use
from apps.recommendations.services.commitments_offers import OnOffer, on_offer
from apps.recommendations.services.document import Document, decimal_text, evidence, iso, rounded
from finops.engine.commitments.desk import Desk
from finops.engine.commitments.evaluate import Evaluation, cash_curve, offer_hours_left, worst_point
from finops.engine.commitments.pools import PoolBook
from finops.engine.commitments.portfolio import Limits
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.scenarios import ScenarioConfig
from finops.engine.commitments.selection import Pick, Selection, select
from finops.engine.workload import WorkloadError
from finops.frames.offers import Offer, OfferKey
from finops.frames.sizes import size_table

MONTH_HOURS = 730
YEAR_HOURS = 8760
LONGEST_LOOKBACK = 366


class _Prices:
    """On-demand list prices at one time; remembers whether a later list had to serve."""

    def __init__(self, at: datetime) -> None:
        self._at = at
        self.later = False
        self.currency = "USD"

    def __call__(self, key: OfferKey) -> Decimal | None:
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
) -> Document:
    """The document; offers whose term ends beyond `horizon_hours`, or outside `kinds`, `payments`,
    `classes` (empty: all), are refused as such. Raises WorkloadError (field, message).
    """
    moment = (at or timezone.now()).astimezone(UTC)
    if not 2 <= lookback_days <= LONGEST_LOOKBACK:
        raise WorkloadError("lookback_days", _("Out of range: %(value)s") % {"value": lookback_days})
    if horizon_hours < 1:
        raise WorkloadError("horizon", _("Out of range: %(value)s") % {"value": horizon_hours})
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    end = moment.replace(minute=0, second=0, microsecond=0)
    use = bill_use(
        organisation=organisation,
        start=end - timedelta(days=lookback_days),
        hours=24 * lookback_days,
        snapshots=chosen,
    )
    sizes, prices = size_table(provider), _Prices(moment)
    uses = use.coverage.demand.uses
    market = on_offer(used=[one.key for one in uses], sizes=sizes, at=moment, provider=provider)
    asked, aside = _sort_out(market.offers, moment, horizon_hours, kinds, payments, classes)
    book = PoolBook(use.coverage, prices, sizes)
    limits = Limits(None if max_upfront is None else float(max_upfront), max_loss_probability)
    desk = Desk(book, moment, prices.currency, limits=limits)
    selection = select(desk, asked)
    return _document(selection, aside, desk, use, market, prices, chosen, lookback_days, horizon_hours)


def _sort_out(
    offers: tuple[Offer, ...],
    at: datetime,
    horizon: int,
    kinds: tuple[str, ...],
    payments: tuple[str, ...],
    classes: tuple[str, ...],
) -> tuple[list[Offer], list[tuple[Offer, Refusal]]]:
    """(offers that were asked for, the others with the reason)."""
    asked: list[Offer] = []
    aside: list[tuple[Offer, Refusal]] = []
    for offer in offers:
        wanted = ((kinds, offer.kind), (payments, offer.payment), (classes, offer.offering_class))
        other = next((value for allowed, value in wanted if allowed and value not in allowed), None)
        hours = offer_hours_left(offer, at)
        if other is not None:
            aside.append((offer, refuse("left aside", what=other)))
        elif hours > horizon:
            aside.append((offer, refuse("beyond the horizon", hours=int(hours), horizon=horizon)))
        else:
            asked.append(offer)
    return asked, aside


def _document(
    selection: Selection,
    aside: list[tuple[Offer, Refusal]],
    desk: Desk,
    use: BillUse,
    market: OnOffer,
    prices: _Prices,
    snapshots: Mapping[str, int],
    lookback: int,
    horizon: int,
) -> Document:
    config = ScenarioConfig()
    demand = use.coverage.demand
    return {
        "advice": [_advice(pick, desk) for pick in selection.picks],
        "refused": [
            {"offer": offer.offer, "kind": offer.kind, "code": why.code, "reason": refusal_sentence(why)}
            for offer, why in (*selection.refused, *aside)
        ],
        "total": {
            "saving": decimal_text(selection.choice.saving),
            "upfront": decimal_text(selection.choice.upfront),
            "currency": desk.currency,
        },
        "use": {
            "from": iso(demand.start),
            "to": iso(demand.end),
            "known_hours": desk.book.known_hours,
            "free_tier_hours": rounded(use.free_hours),
            "not_judged": [{"lines": name, "hours": rounded(hours)} for name, hours in use.unread.items()],
        },
        "evidence": evidence(
            snapshots,
            desk.now,
            later_prices=prices.later or market.later_prices,
            price_lists=[iso(date) for date in market.listed_on],
            lookback_days=lookback,
            horizon_hours=horizon,
            history_hours=desk.book.known_hours,
            scenarios={"draws": config.draws, "seed": config.seed},
        ),
    }


def _advice(pick: Pick, desk: Desk) -> Document:
    found, one = pick.evaluation, pick.considered
    curve = cash_curve(pick.alone, future=one.future, market=one.market, now=desk.now)
    worst = worst_point(curve)
    claims = pick.claims
    return {
        "offer": found.offer.offer,
        "kind": found.offer.kind,
        "type": found.offer.key.instance_type,
        "region": found.offer.key.region,
        "zone": found.offer.key.zone or None,
        "platform": found.offer.key.platform,
        "offering_class": found.offer.offering_class,
        "payment": found.offer.payment,
        "quantity": found.quantity,
        "normalised_units": decimal_text(found.units * found.quantity) if claims.flexible else None,
        "hours_left": rounded(float(found.hours_left)),
        "upfront": decimal_text(found.upfront),
        "hourly": decimal_text(found.offer.hourly * found.quantity),
        "effective_hourly": decimal_text(float(found.effective_hourly)),
        "currency": found.offer.currency,
        "saving_low": decimal_text(found.saving_low),
        "saving": decimal_text(found.saving),
        "saving_high": decimal_text(found.saving_high),
        "monthly_saving": decimal_text(found.monthly_saving),
        "utilisation_pct": rounded(found.utilisation * 100),
        "break_even_utilisation_pct": rounded(found.break_even_share * 100),
        "break_even_date": None if found.break_even_at is None else iso(_second(found.break_even_at)),
        "break_even_months": rounded(_break_even_months(found)),
        "loss_probability": rounded(found.loss_probability),
        "versus": [{"rival": name, "saving": decimal_text(saving)} for name, saving in found.versus],
        "worst_cash": {"at": iso(_second(worst.at)), "amount": decimal_text(worst.expected)},
        "claims": [
            {
                "provider": claims.provider, "region": claims.region, "zone": claims.zone or None,
                "platform": claims.platform, "tenancy": claims.tenancy, "of": claims.name,
                "unit": "normalised unit" if claims.flexible else "instance",
                "units": decimal_text(found.units * found.quantity),
                "from": iso(desk.now),
                "to": iso(_second(desk.now + timedelta(hours=float(found.hours_left)))),
            }
        ],
        "reason": pick_sentence(pick),
    }  # fmt: skip


def _break_even_months(found: Evaluation) -> float | None:
    """Upfront / (on-demand cost of the hours covered - hourly charges) a month of 730 h; None: never."""
    hours = float(found.hours_left)
    hourly = float(found.offer.hourly) * found.quantity
    covered = (found.saving + float(found.total)) / hours - hourly
    return float(found.upfront) / (covered * MONTH_HOURS) if covered > 0 else None


def _second(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)
