"""Publishing what was found as recommendations: same subject, same row; history is kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.recommendations.kinds import kind_of
from apps.recommendations.models import (
    Effort,
    EventAction,
    Recommendation,
    RecommendationEvent,
    RecommendationState,
    Reversibility,
)
from apps.recommendations.selectors.inbox import HOLDING
from apps.recommendations.services.document import decimal_text
from finops.frames.focus import DECIMAL_PRECISION, DECIMAL_SCALE
from finops.frames.money import EXACT

State = RecommendationState
ACTOR = Actor.system("recommendations")
MAX_TEXT = 300
MAX_AMOUNT = Decimal(10) ** (DECIMAL_PRECISION - DECIMAL_SCALE)
PLACES = Decimal(1).scaleb(-DECIMAL_SCALE)
_SAVINGS = ("saving_low", "saving", "saving_high", "monthly_saving", "one_time")


@dataclass(frozen=True)
class Finding:
    """One way to save, as a kind found it.

    `subject`: stable key of what it is about. `document`: what its sentence, page and mail need, decimals as
    texts. `claims`: keys of the hours or resources it uses up from `claim_start` to `claim_end` (aware); two
    rows that share one at the same time are alternatives. `saving_low`, `saving`, `saving_high`: over that
    period; `monthly_saving` per month of 730 h, `one_time` paid once (part of the saving already).
    `evidence`: {"inputs", "snapshots", "engine", "at", "later_prices"}. `team`: its slug, `owner_id`: a user.
    `scenarios`: savings over the period in the worlds of `scenario_set`, in its order: rows of one set are
    added world by world.
    """

    subject: str
    document: Mapping[str, Any]
    claims: tuple[str, ...]
    claim_start: datetime
    claim_end: datetime
    currency: str
    saving_low: Decimal
    saving: Decimal
    saving_high: Decimal
    monthly_saving: Decimal
    one_time: Decimal
    effort: str
    reversibility: str
    evidence: Mapping[str, Any]
    team: str | None = None
    owner_id: int | None = None
    scenario_set: str = ""
    scenarios: tuple[Decimal, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for value in (*(getattr(self, name) for name in _SAVINGS), *self.scenarios):
            if not isinstance(value, Decimal) or not value.is_finite() or abs(value) >= MAX_AMOUNT:
                raise ValueError(f"an amount of {self.subject!r} is no Decimal that is stored: {value!r}")
        if not self.saving_low <= self.saving <= self.saving_high:
            raise ValueError(f"the saving of {self.subject!r} lies outside of its interval")
        if self.claim_start.tzinfo is None or self.claim_end.tzinfo is None:
            raise ValueError(f"the claim of {self.subject!r} has no time zone")
        if self.claim_end <= self.claim_start:
            raise ValueError(f"the claim of {self.subject!r} ends before it starts")
        for text in (self.subject, *self.claims):
            if not text.strip() or len(text) > MAX_TEXT or "\x00" in text:
                raise ValueError(f"a subject or claim needs 1 to {MAX_TEXT} characters: {text[:40]!r}")
        if self.effort not in Effort.values or self.reversibility not in Reversibility.values:
            raise ValueError(f"effort or reversibility of {self.subject!r} is not known")
        self._check_evidence()
        if not self.currency or bool(self.scenario_set) != bool(self.scenarios):
            raise ValueError(f"{self.subject!r} needs a currency, and scenarios need the name of their set")

    def _check_evidence(self) -> None:
        """The upkeep of the lake reads snapshot ids out of what is stored: they must be numbers."""
        snapshots = self.evidence.get("snapshots") or {}
        if not all(str(number).isdecimal() for number in snapshots.values()):
            raise ValueError(f"the evidence of {self.subject!r} names no snapshots: {snapshots!r}")
        if "\\u0000" in json.dumps(self.evidence):
            raise ValueError(f"the evidence of {self.subject!r} holds a character that is not stored")


@dataclass(frozen=True, slots=True)
class Published:
    """How many rows were made, brought up to date, found again after they were set aside or expired, left as
    somebody decided, and expired because they were not found.
    """

    made: int = 0
    refreshed: int = 0
    reopened: int = 0
    kept: int = 0
    expired: int = 0


def organisation_lock(organisation: Organisation) -> None:
    """Let one change of this organisation's recommendations happen at a time, until the transaction ends.

    A row of another table keeps pointing at the organisation meanwhile: that takes a weaker lock.
    """
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)


def publish(
    kind: str,
    findings: Sequence[Finding],
    *,
    organisation: Organisation,
    now: datetime,
    whole: bool,
    not_judged: Collection[str] = (),
) -> Published:
    """Make findings rows of the inbox, at once or not at all.

    The live row of a subject is brought up to date. One that was dismissed or snoozed stays so unless the
    saving left the interval that was decided on; one that was accepted or done stays as it was, and outside
    of that interval, or after its claim, another row follows it. `whole`: this is all there is of the kind,
    so open rows that are not among it expire, but for the subjects `not_judged`: of those nothing is known.
    A look older than a row's last one changes nothing of it.
    Raises ValueError: an unknown kind, a subject twice, a team that is not there.
    """
    kind_of(kind)
    subjects = [finding.subject for finding in findings]
    if len(set(subjects)) != len(subjects):
        twice = next(subject for subject, n in Counter(subjects).items() if n > 1)
        raise ValueError(f"two findings of {kind} are about {twice!r}")
    with transaction.atomic():
        organisation_lock(organisation)
        teams = _teams(organisation, findings)
        rows = list(
            Recommendation.objects.select_for_update()
            .filter(organisation=organisation, kind=kind)
            .exclude(state__in=HOLDING, claim_end__lte=now)
            .order_by("pk")
        )
        live = {row.subject: row for row in rows if row.state not in HOLDING}
        held = {row.subject: row for row in rows if row.state in HOLDING}  # the newest of a subject
        done = Counter(
            _one(
                kind, finding, organisation, teams, live.get(finding.subject), held.get(finding.subject), now
            )
            for finding in findings
        )
        if whole:
            done["expired"] = _not_found(rows, {*subjects, *not_judged}, now)
    return Published(**{name: done[name] for name in Published.__dataclass_fields__})


def record(
    row: Recommendation,
    action: EventAction,
    *,
    before: str,
    now: datetime,
    actor: Actor = ACTOR,
    reason: str = "",
    **facts: Any,
) -> None:
    """Append to the history of a row, in the transaction of the change."""
    RecommendationEvent.objects.create(
        recommendation=row,
        at=now,
        action=action,
        before=before,
        after=row.state,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_label=actor.label,
        reason=reason,
        facts={**savings_of(row), **facts},
    )


def savings_of(row: Recommendation) -> dict[str, Any]:
    """The savings of a row as texts."""
    return {"currency": row.currency, **{name: decimal_text(getattr(row, name)) for name in _SAVINGS}}


def _teams(organisation: Organisation, findings: Sequence[Finding]) -> dict[str, Team]:
    wanted = {finding.team for finding in findings if finding.team}
    found = {team.slug: team for team in Team.objects.filter(organisation=organisation, slug__in=wanted)}
    if missing := sorted(wanted - found.keys()):
        raise ValueError(f"no team of this organisation: {', '.join(missing)}")
    return found


def _one(
    kind: str,
    finding: Finding,
    organisation: Organisation,
    teams: Mapping[str, Team],
    row: Recommendation | None,
    held: Recommendation | None,
    now: datetime,
) -> str:
    """Write one finding; the name of what was done in `Published`."""
    if row is not None:
        return _refresh(row, finding, teams, now)
    if held is not None and not _left_interval(held, finding):
        if held.refreshed_at < now:
            held.refreshed_at, held.gone_at = now, None
            held.save(update_fields=["refreshed_at", "gone_at"])
        return "kept"
    before = held or (
        Recommendation.objects.filter(organisation=organisation, kind=kind, subject=finding.subject)
        .order_by("-pk")
        .first()
    )
    made = Recommendation(
        organisation=organisation, kind=kind, subject=finding.subject, found_at=now, follows=before,
        owner_id=finding.owner_id,
    )  # fmt: skip
    _fill(made, finding, teams, now)
    made.save()
    record(made, EventAction.PUBLISHED, before="", now=now)
    return "made"


def _refresh(row: Recommendation, finding: Finding, teams: Mapping[str, Team], now: datetime) -> str:
    if row.refreshed_at > now:
        return "kept"
    before, was = row.state, savings_of(row)
    aside = row.state in {State.SNOOZED, State.DISMISSED}
    news = row.state == State.EXPIRED or (aside and _left_interval(row, finding))
    _fill(row, finding, teams, now)
    if news:
        row.state, row.until, row.reason, row.author = State.OPEN, None, "", ""
        row.stated_at = row.stated_low = row.stated_high = None
    row.save()
    if news:
        record(row, EventAction.FOUND_AGAIN, before=before, now=now, was=was)
        return "reopened"
    if was != savings_of(row):
        record(row, EventAction.REFRESHED, before=before, now=now, was=was)
    return "kept" if aside else "refreshed"


def _left_interval(row: Recommendation, finding: Finding) -> bool:
    """Whether the saving is news to who decided on the row: outside of the interval they saw."""
    if row.stated_low is None or row.stated_high is None or row.currency != finding.currency:
        return True
    return not row.stated_low <= finding.saving <= row.stated_high


def _fill(row: Recommendation, finding: Finding, teams: Mapping[str, Team], now: datetime) -> None:
    for name in ("claim_start", "claim_end", "currency", "effort", "reversibility", "scenario_set"):
        setattr(row, name, getattr(finding, name))
    for name in _SAVINGS:  # as they are stored, so that the same finding again is no change
        setattr(row, name, getattr(finding, name).quantize(PLACES, context=EXACT))
    row.document, row.evidence = dict(finding.document), dict(finding.evidence)
    row.claims, row.scenarios = sorted(set(finding.claims)), list(finding.scenarios)
    row.team = teams[finding.team] if finding.team else None
    row.refreshed_at, row.gone_at = now, None


def _not_found(rows: Sequence[Recommendation], subjects: set[str], now: datetime) -> int:
    """What a whole look did not find: open rows expire, what was decided stays and is marked."""
    expired = 0
    for row in rows:
        if row.subject in subjects or row.refreshed_at > now or row.gone_at is not None:
            continue
        before, row.gone_at = row.state, now
        if row.state == State.OPEN:
            row.state = State.EXPIRED
            record(row, EventAction.EXPIRED, before=before, now=now, cause="not found")
            expired += 1
        row.save(update_fields=["state", "gone_at"])
    return expired
