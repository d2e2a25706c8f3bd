"""What the database itself keeps of recommendations."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from apps.accounts.models import Organisation, Team
from apps.recommendations.models import RealisedSaving, Recommendation, RecommendationEvent

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def make(**changes: Any) -> Recommendation:
    """A row of the default organisation."""
    values: dict[str, Any] = {
        "organisation": Organisation.default(), "kind": "waste", "subject": "s", "document": {},
        "claims": ["pool:a"], "claim_start": NOW, "claim_end": NOW.replace(month=12), "currency": "USD",
        "saving_low": Decimal(1), "saving": Decimal(2), "saving_high": Decimal(3),
        "monthly_saving": Decimal(2), "one_time": Decimal(0), "effort": "low", "reversibility": "full",
        "found_at": NOW, "refreshed_at": NOW,
    }  # fmt: skip
    return Recommendation.objects.create(**{**values, **changes})


STATED: dict[str, Any] = {"stated_at": NOW, "stated_low": 1, "stated_high": 3, "author": "ada"}


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("recommendation_claims_in_order", {"claim_end": NOW}),
        ("recommendation_saving_in_interval", {"saving_low": Decimal("2.01")}),
        ("recommendation_saving_in_interval", {"saving_high": Decimal("1.99")}),
        ("recommendation_effort_known", {"effort": "none"}),
        ("recommendation_reversibility_known", {"reversibility": "low"}),
        ("recommendation_has_subject", {"currency": ""}),
        ("recommendation_times_in_order", {"refreshed_at": NOW.replace(month=10)}),
        ("recommendation_says_who_and_why", {"state": "dismissed", **STATED}),
        ("recommendation_says_who_and_why", {"state": "snoozed", **STATED}),
        ("recommendation_says_who_and_why", {"state": "accepted", "accepted_at": NOW, **STATED}),
        ("recommendation_says_who_and_why", {"counterfactual": {}}),
        ("recommendation_says_who_and_why", {"state": "waiting", **STATED}),
        (
            "recommendation_decision_has_interval",
            {"state": "dismissed", "author": "ada", "reason": "no", "stated_at": NOW},
        ),
    ],
)
@pytest.mark.django_db
def test_a_row_that_contradicts_itself_is_refused(rule: str, changes: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match=rule), transaction.atomic():
        make(**changes)
    assert not Recommendation.objects.exists()


@pytest.mark.django_db
def test_a_subject_has_one_row_that_lives_beside_those_that_were_decided() -> None:
    made = {**STATED, "state": "accepted", "accepted_at": NOW, "counterfactual": {}}
    make(**made)
    make(**{**made, "state": "done"})
    make()
    with pytest.raises(IntegrityError, match="recommendation_live_once"), transaction.atomic():
        make(state="expired")
    make(kind="storage")
    assert Recommendation.objects.count() == 4


@pytest.mark.django_db
def test_teams_and_predecessors_are_of_the_same_organisation() -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    theirs = make(organisation=elsewhere)
    team = Team.objects.create(organisation=elsewhere, name="x", slug="x")
    for changes in ({"team": team}, {"follows": theirs}):
        with pytest.raises(IntegrityError, match="own organisation"), transaction.atomic():
            make(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"saving": Decimal(1), "actual": Decimal(2), "counterfactual": Decimal(4)},
        {"saving": Decimal(1), "counterfactual": Decimal(1)},
        {"actual": Decimal(2), "counterfactual": Decimal(4), "reason": "forgotten"},
        {},
        {"reason": "no bill", "complete": True},
        {"reason": "no bill", "month": date(2026, 11, 2)},
    ],
)
@pytest.mark.django_db
def test_a_realised_saving_is_the_difference_or_says_what_is_missing(changes: dict[str, Any]) -> None:
    row = make()
    values = {"month": date(2026, 11, 1), "currency": "USD", "promised": Decimal(2), "computed_at": NOW}
    with pytest.raises(IntegrityError, match="realised_"), transaction.atomic():
        RealisedSaving.objects.create(recommendation=row, **{**values, **changes})
    RealisedSaving.objects.create(recommendation=row, reason="no bill", **values)


@pytest.mark.django_db(transaction=True)
def test_history_is_append_only_and_the_tables_go_and_come_back() -> None:
    row = make()
    event = RecommendationEvent.objects.create(
        recommendation=row, at=NOW, action="published", after="open", actor_kind="system", actor_label="beat"
    )
    for change in (lambda: RecommendationEvent.objects.update(reason="x"), event.delete):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()
    try:
        MigrationExecutor(connection).migrate([("recommendations", "0002_document_to_the_letter")])
        assert "recommendations_recommendation" not in connection.introspection.table_names()
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert not Recommendation.objects.exists()
