"""The answer of a laxer gate never stands in for that of a stricter one, nor a later base for an earlier."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.costchecks.models import CostCheck
from apps.costchecks.services import CheckConflictError, Question, cost_check_make
from finops.engine.checks.policies import policies_of
from tests.support.plans import change, plan

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
VOLUME = {"type": "gp2", "size": 100}
WARNS = {"kind": "volume_types", "types": ["gp2"], "level": "warn"}
ALL = {"kind": "all_priced"}


@pytest.fixture
def organisation() -> Organisation:
    return Organisation.default()


def check(organisation: Organisation, *rows: dict[str, Any], at: datetime = AT, **more: Any) -> CostCheck:
    policies = policies_of({"policies": list(rows)}) if rows else None
    question = Question(plan(change("aws_ebs_volume.a", VOLUME)), policies=policies, **more)
    return cost_check_make(organisation=organisation, question=question, at=at)


def test_strict_is_not_answered_by_a_row_that_was_not(organisation: Organisation) -> None:
    lax = check(organisation, WARNS, ALL)
    strict = check(organisation, WARNS, strict=True)
    assert (lax.document["exit_code"], strict.document["exit_code"]) == (0, 10)
    assert lax.pk != strict.pk


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        (({"kind": "max_total", "limit": "1"},), {}),
        ((WARNS,), {"strict": True}),
        ((WARNS,), {"base_ref": "main"}),
        ((), {}),
    ],
)
def test_a_key_is_not_answered_by_another_gate(
    rows: tuple[dict[str, Any], ...], more: dict[str, Any], organisation: Organisation
) -> None:
    row = check(organisation, WARNS, key="build-7")
    assert check(organisation, WARNS, key="build-7", at=AT + timedelta(days=1)).pk == row.pk
    with pytest.raises(CheckConflictError):
        check(organisation, *rows, key="build-7", **more)
    assert CostCheck.objects.count() == 1


def test_the_base_is_no_check_made_after_the_decision(organisation: Organisation) -> None:
    early = check(organisation, project="infra", ref="main")
    check(organisation, WARNS, project="infra", ref="main", at=AT + timedelta(days=2))
    found = check(organisation, project="infra", base_ref="main", at=AT + timedelta(days=1))
    assert found.document["base"]["id"] == early.pk
    before = check(organisation, project="infra", base_ref="main", at=AT - timedelta(days=1))
    assert (before.document["base"]["id"], before.document["before"]) == (None, "absent")
