"""Rows of the answer about commitments: an offer evaluated, an offer refused. Keys are a contract."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.recommendations.commitments_wording import refusal_sentence, rival_words
from apps.recommendations.services.commitments_offers import OnOffer
from apps.recommendations.services.commitments_rivals import Rivals
from apps.recommendations.services.document import Document, decimal_text, iso, rounded
from finops.engine.commitments.desk import Considered, Desk
from finops.engine.commitments.eligibility import Pool
from finops.engine.commitments.evaluate import (
    PENNY_DUST,
    CashPoint,
    Evaluation,
    cash_curve,
    evaluate,
    interval,
    offer_hours_left,
    worst_point,
)
from finops.engine.commitments.refusal import Refusal
from finops.engine.commitments.scenarios import Floats
from finops.frames.offers import Offer, OfferKind

MONTH_HOURS = 730


@dataclass(frozen=True)
class Rows:
    """Makes the rows of one answer."""

    desk: Desk
    rivals: Rivals
    market: OnOffer

    def evaluated(self, found: Evaluation, claims: Pool) -> Document:
        """An offer at a quantity, whatever is made of it."""
        quantity = found.quantity
        return {
            **self.offered(found.offer),
            "quantity": quantity,
            "normalised_units": decimal_text(found.units * quantity) if claims.flexible else None,
            "hours_left": rounded(float(found.hours_left)),
            "upfront": decimal_text(found.upfront),
            "hourly": decimal_text(found.offer.hourly * quantity),
            "effective_hourly": decimal_text(float(found.effective_hourly)),
            "effective_hourly_used": decimal_text(found.effective_used),
            "below_on_demand_pct": rounded((1 - found.break_even_share) * 100),
            "saving_low": decimal_text(found.saving_low),
            "saving": decimal_text(found.saving),
            "saving_high": decimal_text(found.saving_high),
            "monthly_saving": decimal_text(found.monthly_saving),
            "utilisation_pct": rounded(found.utilisation * 100),
            "break_even_utilisation_pct": rounded(found.break_even_share * 100),
            "break_even_date": None if found.break_even_at is None else iso(second(found.break_even_at)),
            "break_even_months": rounded(break_even_months(found)),
            "loss_probability": rounded(found.loss_probability),
            "versus": self._versus(found),
            "claims": [claim(found, claims, self.desk.now)],
        }

    def offered(self, offer: Offer) -> Document:
        """What is offered: one of it, without a judgement."""
        return {
            "offer": offer.offer,
            "id": self.market.row_of(offer),
            "kind": offer.kind,
            "type": offer.key.instance_type,
            "region": offer.key.region,
            "zone": offer.key.zone or None,
            "platform": offer.key.platform,
            "tenancy": offer.key.tenancy,
            "offering_class": offer.offering_class,
            "payment": offer.payment,
            "upfront_each": decimal_text(offer.fixed),
            "hourly_each": decimal_text(offer.hourly),
            "count": offer.count,
            "hours_left": rounded(float(offer_hours_left(offer, self.desk.now))),
            "currency": offer.currency,
            "seen_at": iso(offer.seen_at) if offer.kind is OfferKind.SECOND_HAND else None,
        }

    def refused(self, offer: Offer, why: Refusal) -> Document:
        """An offer that is not bought, and why."""
        return {
            **self.offered(offer),
            "code": why.code,
            "values": dict(why.values),
            "reason": refusal_sentence(why),
        }

    def _versus(self, found: Evaluation) -> list[Document]:
        """Every rival; without a price its saving is null and the reason stands there."""
        savings = dict(found.versus)
        rows: list[Document] = [
            {"rival": "on-demand", "name": rival_words("on-demand"), "detail": None,
             "hourly": decimal_text(found.on_demand_hourly),
             "saving": decimal_text(found.saving), "reason": None, "code": None, "values": {}}
        ]  # fmt: skip
        for one in self.rivals.of(found.offer.key):
            saving = savings.get(one.name)
            rows.append(
                {
                    "rival": one.name,
                    "name": rival_words(one.name),
                    "detail": one.detail or None,
                    "hourly": None if one.price is None else decimal_text(one.price * float(found.units)),
                    "saving": None if saving is None else decimal_text(saving),
                    "reason": None if one.reason is None else refusal_sentence(one.reason),
                    "code": None if one.reason is None else one.reason.code,
                    "values": {} if one.reason is None else dict(one.reason.values),
                }
            )
        return rows

    def cash(self, found: Evaluation, one: Considered) -> Document:
        """The cash curve by month, with the point where most is out."""
        curve = cash_curve(found, future=one.future, market=one.market, now=self.desk.now)
        worst = worst_point(curve)
        return {
            "cash_curve": [cash_point(point) for point in curve],
            "worst_cash": {"at": iso(second(worst.at)), "amount": decimal_text(worst.expected)},
        }

    def one_more(self, found: Evaluation, one: Considered) -> str | None:
        """What one more instance than `found` holds would add; None: the listing has no more."""
        if one.offer.count is not None and one.offer.count <= found.quantity:
            return None
        more = evaluate(
            one.offer, units=one.units, future=one.future, market=one.market, now=self.desk.now,
            quantity=found.quantity + 1,
        )  # fmt: skip
        return None if isinstance(more, Refusal) else decimal_text(more.saving - found.saving)


def cash_point(point: CashPoint) -> Document:
    """One point of a cash curve."""
    return {
        "months": point.months,
        "at": iso(second(point.at)),
        "low": decimal_text(point.low),
        "expected": decimal_text(point.expected),
        "high": decimal_text(point.high),
    }


def claim(found: Evaluation, pool: Pool, now: datetime) -> Document:
    """The hours that a purchase takes."""
    return {
        "provider": pool.provider,
        "region": pool.region,
        "zone": pool.zone or None,
        "platform": pool.platform,
        "tenancy": pool.tenancy,
        "of": pool.name,
        "unit": "normalised unit" if pool.flexible else "instance",
        "units": decimal_text(found.units * found.quantity),
        "from": iso(now),
        "to": iso(second(now + timedelta(hours=float(found.hours_left)))),
    }


def break_even_months(found: Evaluation) -> float | None:
    """Upfront / (on-demand cost of the hours covered - hourly charges) a month of 730 h; None: never."""
    hours = float(found.hours_left)
    hourly = float(found.offer.hourly) * found.quantity
    covered = (found.saving + float(found.total)) / hours - hourly
    return float(found.upfront) / (covered * MONTH_HOURS) if covered > 0 else None


def together(scenarios: Floats) -> Document:
    """Interval and risk of everything that is bought, over the scenarios."""
    low, high = interval(scenarios) if scenarios.size else (0.0, 0.0)
    lost = float((scenarios < -PENNY_DUST).mean()) if scenarios.size else 0.0
    return {
        "saving_low": decimal_text(low),
        "saving_high": decimal_text(high),
        "loss_probability": rounded(lost),
    }


def second(moment: datetime) -> datetime:
    """Without its fraction of a second."""
    return moment.replace(microsecond=0)
