"""One cost check: read, price, judge, keep."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.translation import get_language

from apps.accounts.models import Organisation, Team
from apps.billing.models import Budget, BudgetScope
from apps.billing.selectors.budget_standing import budget_answer
from apps.billing.selectors.budgets import budgets_in_force
from apps.costchecks.document import check_document, input_digest, prices_used, summary_of
from apps.costchecks.models import CostCheck
from apps.costchecks.selectors import base_check, cost_check_list
from apps.costchecks.services.facts import facts_marks, launch_facts, offer_facts, storage_facts
from apps.costchecks.services.links import page_link
from apps.costchecks.services.policies import policies_in_force
from apps.costchecks.services.prices import PROVIDER, check_prices, machine_facts
from apps.ingest.selectors import current_snapshots, price_snapshots
from finops.engine.checks.alternatives import Cheaper, alternatives, cheaper, spot_keys, volume_keys
from finops.engine.checks.measured import measured, run_keys
from finops.engine.checks.policies import ORDER, Carbon, Outcome, Policy, Verdict, judge
from finops.engine.checks.pricing import Priced, Prices, keys_of, price_resources
from finops.engine.checks.second_hand import offer_places, second_hand
from finops.engine.checks.stored import buckets_of, stored
from finops.engine.checks.tables import carbon_of
from finops.fingerprint import code_fingerprint
from finops.frames.cost_items import CheckInputError, Reading, Resource, spot_zone
from finops.frames.state_document import against, state_of
from finops.frames.usage_file import Usage
from finops.providers.kubernetes.manifests import read_manifests
from finops.providers.terraform.plan import read_plan
from finops.providers.workload.workload_file import read_workload


class CheckConflictError(ValueError):
    """The caller's key names a check of another input, or one that was held against something else."""


@dataclass(frozen=True)
class Question:
    """What is checked. `policies`: beside the stored ones; None: no own ones. `base_ref`: compare with the
    newest stored check of the project on this branch instead of with the plan's own before. `key`: the
    caller's, once.
    """

    content: bytes
    kind: str = "terraform"
    file: str = "input"
    usage: Usage = field(default_factory=Usage)
    policies: Sequence[Policy] | None = None
    strict: bool = False
    project: str = ""
    ref: str = ""
    commit: str = ""
    base_ref: str = ""
    key: str = ""
    team: Team | None = None


@dataclass(frozen=True)
class _Asked:
    organisation: Organisation
    question: Question
    reading: Reading
    resources: Sequence[Resource]
    policies: Sequence[Policy]
    base: CostCheck | None
    snapshots: dict[str, int]
    at: datetime
    input: str


def cost_check_make(*, organisation: Organisation, question: Question, at: datetime) -> CostCheck:
    """The stored check; the same input on the same data is the row that is there.

    Raises CheckInputError for input that is refused (nothing is stored) and CheckConflictError.
    """
    reading = _read(question)
    base = None
    resources = reading.resources
    if question.base_ref:
        base = base_check(
            organisation, project=question.project, kind=question.kind, ref=question.base_ref, at=at
        )
        resources = against(resources, base.state if base else [])
    given = None if question.policies is None else tuple(question.policies)
    policies = policies_in_force(organisation, team=question.team, given=given)
    if question.strict:
        policies = (*policies, Policy("all_priced", Verdict.DENY))
    snapshots = price_snapshots(current_snapshots())
    text = repr(reading.resources)  # a tenth of the whole work, so once
    read = input_digest(question.kind, question.project, text)
    state = text if resources is reading.resources else repr(resources)
    marks = facts_marks(offer_places(resources), buckets_of(resources), organisation=organisation)
    moves = _moves(resources, policies)
    digest = _digest(question, state, policies, base, snapshots, at, moves=moves, marks=marks)
    found = cost_check_list(organisation).filter(digest=digest).first()
    if question.key:
        keyed = cost_check_list(organisation).filter(key=question.key).first()
        if keyed is not None and not _same_question(keyed, read, question):
            raise CheckConflictError(question.key)
        found = keyed or found
    if found is not None:
        return found
    asked = _Asked(organisation, question, reading, resources, policies, base, snapshots, at, read)
    return _kept(asked, _document(asked), digest)


def _read(question: Question) -> Reading:
    told: dict[str, Any] = {"file": question.file, "usage": question.usage}
    if question.kind == "kubernetes":
        return read_manifests(question.content, facts=machine_facts, **told)
    if question.kind == "workload":
        return read_workload(question.content, **told)
    return read_plan(question.content, **told)


def _document(asked: _Asked) -> dict[str, Any]:
    question, resources, at = asked.question, asked.resources, asked.at
    keys = keys_of(resources) | spot_keys(resources) | volume_keys(resources)
    prices, left_out = check_prices(keys, at=at, organisation=asked.organisation)
    try:
        priced = price_resources(resources, prices)
    except ValueError as error:
        raise CheckInputError(str(error), file=question.file) from error
    carbon = carbon_of(PROVIDER, resources, at.date())
    outcomes = [_judged(policy, priced, asked, carbon) for policy in asked.policies]
    ways, not_asked = _cheaper(asked, prices)
    document = check_document(
        priced, outcomes, ways, reading=asked.reading, strict=question.strict, at=at, link=page_link,
    )  # fmt: skip
    return document | {
        "project": question.project or None,
        "ref": question.ref or None,
        "commit": question.commit or None,
        "base": {
            "kind": "stored check" if question.base_ref else "plan",
            "ref": question.base_ref or None,
            "id": asked.base.pk if asked.base else None,
        },
        "spot_prices_left_out": [*left_out, *not_asked],
        "evidence": {
            "snapshots": {table: str(snapshot) for table, snapshot in sorted(asked.snapshots.items())},
            "engine": settings.OFFPEAK_VERSION,
            "at": at.isoformat().replace("+00:00", "Z"),
            "later_prices": any(price.later for price in priced.used.values()),
            "input": asked.input,
            "asked": _asked_digest(question),
            "prices": prices_used(priced),
        },
    }  # fmt: skip


def _cheaper(asked: _Asked, prices: Prices) -> tuple[Cheaper, tuple[str, ...]]:
    """Every cheaper way that the product's own advice knows, and what it was not asked."""
    resources, at, organisation = asked.resources, asked.at, asked.organisation
    launches, not_asked = launch_facts(run_keys(resources), at=at, organisation=organisation)
    offers = offer_facts(offer_places(resources), at=at)
    classes = storage_facts(buckets_of(resources), at=at, organisation=organisation)
    return cheaper(
        [
            *alternatives(resources, prices),
            *measured(resources, prices, launches),
            *second_hand(resources, prices, offers),
            *stored(resources, classes),
        ]
    ), not_asked


def _kept(asked: _Asked, document: dict[str, Any], digest: str) -> CostCheck:
    question = asked.question
    row = CostCheck(
        organisation=asked.organisation, team=question.team, base=asked.base, kind=question.kind,
        project=question.project, ref=question.ref, commit=question.commit, key=question.key,
        digest=digest, at=asked.at, verdict=document["verdict"], document=document,
        state=state_of(asked.resources), summary=summary_of(document),
    )  # fmt: skip
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        # The same check ran beside this one: its row is the answer.
        same = cost_check_list(asked.organisation).filter(digest=digest).first()
        if same is None:
            raise CheckConflictError(question.key) from None
        return same
    return row


def _judged(policy: Policy, priced: Priced, asked: _Asked, carbon: Carbon) -> Outcome:
    if policy.kind != "team_budget":
        return judge(policy, priced, carbon=carbon)
    team, at = asked.question.team, asked.at
    slug = policy.team or (team.slug if team else "")
    rows = budgets_in_force(asked.organisation, at.date()).filter(
        scope=BudgetScope.TEAM, team__slug=slug, period="month"
    )
    if priced.currency is not None:  # what costs nothing leaves a budget of any currency as it stands
        rows = rows.filter(currency=priced.currency)
    found = [_against_budget(policy, priced, budget, at) for budget in rows]
    return max(found, key=lambda one: ORDER.index(one.verdict), default=judge(policy, priced))


def _against_budget(policy: Policy, priced: Priced, budget: Budget, at: datetime) -> Outcome:
    answer = budget_answer(budget, at=at, day=at.date())
    spent: Decimal | None = None
    if answer.found is not None and answer.found.result is not None:
        expected = answer.found.result.expected
        spent = None if expected is None else Decimal(repr(expected))
    return judge(policy, priced, budget=budget.amount, spent=spent)


def _asked_digest(question: Question) -> str:
    """Of what the caller holds the input against: a gate made stricter is another question."""
    given = None if question.policies is None else tuple(question.policies)
    team = question.team.pk if question.team else None
    return hashlib.sha256(repr((given, question.strict, question.base_ref, team)).encode()).hexdigest()


def _same_question(check: CostCheck, read: str, question: Question) -> bool:
    """Whether a stored check has this input and was held against the same; older rows know the input only."""
    kept = check.document["evidence"]
    return bool(kept["input"] == read) and kept.get("asked") in (None, _asked_digest(question))


def _digest(
    question: Question,
    resources: str,
    policies: Sequence[Policy],
    base: CostCheck | None,
    snapshots: dict[str, int],
    at: datetime,
    *,
    moves: bool,
    marks: Sequence[Any],
) -> str:
    """Names a question on a state of the data and the code; the day decides which list prices hold."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(id), 0) FROM prices_listprice")
        listed = cursor.fetchone()[0]
    parts = [
        code_fingerprint(), get_language() or "", resources, repr(policies), question.strict, question.kind,
        question.project, question.ref, question.commit, question.base_ref, base.pk if base else None,
        question.team.pk if question.team else None, sorted(snapshots.items()), listed,
        at.isoformat() if moves else at.date().isoformat(), marks,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _moves(resources: Sequence[Resource], policies: Sequence[Policy]) -> bool:
    """Whether the answer depends on the minute: Spot prices and budgets do, lists hold for a day."""
    keys = keys_of(resources) | spot_keys(resources)
    spot = any(spot_zone(market) is not None for _, market in keys) or bool(run_keys(resources))
    return spot or any(policy.kind == "team_budget" for policy in policies)
