"""Lifecycle rules are written as approved or not at all: merged, compared, read back, taken back; against a
local S3.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.config import Config
from django.core.exceptions import ValidationError
from django.utils import timezone
from tenacity import wait_none

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.accounts.roles import Role
from apps.recommendations.models import ChangeState, LifecycleChange, StorageAccount
from apps.recommendations.services import storage_changes as changes
from apps.recommendations.services.storage_applying import change_run, change_trial, changes_tick
from apps.storage.models import Bucket
from finops.engine.storage.lifecycle import rule_of
from finops.engine.storage.tiering import DELETE, Policy, Step
from finops.providers.aws.lifecycle import lifecycle_policy
from finops.providers.base import TransientError
from tests.support.lifecycle_server import ACCOUNT, SMALLEST, Rules, lifecycle_server

State = ChangeState
ASKER = Actor.system("ada")
DAYS = timedelta(days=1)
TIER = rule_of("data/", "current", Policy((Step(90, "GLACIER_IR"),), from_bytes=131_072))
EXPIRE = rule_of("old/", "noncurrent", Policy((Step(30, DELETE),)))
THERE = (
    '<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ID>logs</ID>'
    "<Prefix>logs/</Prefix><Status>Enabled</Status><Expiration><Date>2027-01-01T00:00:00.000Z</Date>"
    "</Expiration></Rule></LifecycleConfiguration>"
)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Rules]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    short = Config(
        retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=2, read_timeout=5,
        s3={"addressing_style": "path"},
    )  # fmt: skip
    monkeypatch.setattr("finops.providers.aws.session.client_config", lambda attempts=1: short)
    monkeypatch.setattr("finops.providers.aws.lifecycle.BACK_OFF", wait_none())
    monkeypatch.setattr("finops.providers.aws.lifecycle.BETWEEN", 0.0)
    monkeypatch.setattr(
        "finops.providers.aws.lifecycle.open_bucket.__kwdefaults__", {"back_off": wait_none()}
    )
    with lifecycle_server() as running:
        settings.AWS_ENDPOINT_URL = running.url
        yield running


@pytest.fixture
def account(db: None) -> StorageAccount:
    organisation = Organisation.default()
    Bucket.objects.create(
        organisation=organisation, provider="aws", name="lake", region="us-east-1", account=ACCOUNT
    )
    return StorageAccount.objects.create(organisation=organisation, provider="aws", account=ACCOUNT)


def member(name: str, role: Role = Role.ENGINEER) -> Membership:
    user = User.objects.create_user(email=f"{name}@example.com", password="correct horse battery")
    return Membership.objects.create(user=user, organisation=Organisation.default(), role=role)


def asked(account: StorageAccount, *rules: dict[str, Any], **given: Any) -> LifecycleChange:
    return changes.change_request(
        organisation=account.organisation, actor=ASKER, account=account, bucket="lake",
        rules=rules or (TIER,), now=given.pop("now", timezone.now()), **given,
    )  # fmt: skip


def approved(account: StorageAccount, *rules: dict[str, Any]) -> LifecycleChange:
    row = asked(account, *rules)
    return changes.change_approve(change=row, membership=member("eve"), now=timezone.now())


def actions() -> list[str]:
    entries = AuditEntry.objects.filter(action__startswith="lifecycle.").order_by("pk")
    return list(entries.values_list("action", flat=True))


def test_a_change_is_merged_approved_written_and_read_back(s3: Rules, account: StorageAccount) -> None:
    s3.buckets["lake"], s3.smallest["lake"] = THERE, "varies_by_storage_class"
    row = asked(account)
    assert (row.state, row.approvals_needed, row.deletes) == (State.REQUESTED, 1, False)
    assert [rule["ID"] for rule in row.after["Rules"]] == ["logs", TIER["ID"]]
    assert row.rollback == row.before
    assert any(line.startswith("+") and "GLACIER_IR" in line for line in row.diff)
    assert changes_tick(now=timezone.now()) == 0
    row = changes.change_approve(change=row, membership=member("eve"), now=timezone.now())
    assert (row.state, s3.puts()) == (State.APPROVED, 0)
    assert changes_tick(now=timezone.now()) == 1
    row.refresh_from_db()
    assert row.state == State.APPLIED, row.message
    assert (s3.ids(), s3.puts()) == (["logs", TIER["ID"]], 1)
    # What small objects do is not changed by the way.
    assert s3.smallest["lake"] == "varies_by_storage_class"
    assert changes.same(row.read_back, row.after)
    assert "<Date>2027-01-01T00:00:00Z</Date>" in s3.buckets["lake"]
    assert changes_tick(now=timezone.now()) == 0
    assert change_run(change_id=row.pk, now=timezone.now()) == ""
    assert actions() == ["lifecycle.request", "lifecycle.approve", "lifecycle.apply"]


def test_rules_that_changed_in_between_stop_the_write(s3: Rules, account: StorageAccount) -> None:
    row = approved(account)
    s3.buckets["lake"] = THERE
    assert change_trial(change=row, actor=ASKER, now=timezone.now()).trial["allowed"] is False
    assert change_run(change_id=row.pk, now=timezone.now()) == State.REFUSED
    row.refresh_from_db()
    assert "somebody changed them" in row.message
    assert (s3.buckets["lake"], s3.puts()) == (THERE, 0)


def test_the_dry_run_says_what_would_change_and_writes_nothing(s3: Rules, account: StorageAccount) -> None:
    s3.buckets["lake"] = THERE
    row = change_trial(change=asked(account), actor=ASKER, now=timezone.now())
    assert (row.trial["allowed"], row.trial["rules_now"], row.trial["rules_after"]) == (True, 1, 2)
    s3.faults["GET"] = ["deny"]
    row = change_trial(change=row, actor=ASKER, now=timezone.now())
    assert row.trial["allowed"] is False
    assert "AWS does not allow this" in row.trial["reason"]
    assert s3.puts() == 0


def test_what_deletes_takes_two_people_and_waits(s3: Rules, account: StorageAccount, settings: Any) -> None:
    settings.STORAGE_DELETE_DELAY_DAYS = 7
    row = asked(account, EXPIRE)
    assert (row.deletes, row.approvals_needed, row.rollback) == (True, 2, None)
    first, second = member("eve"), member("fay", Role.FINANCE)
    now = timezone.now()
    row = changes.change_approve(change=row, membership=first, now=now)
    row = changes.change_approve(change=row, membership=first, now=now)
    assert (row.state, row.approvals.count()) == (State.REQUESTED, 1)
    row = changes.change_approve(change=row, membership=second, now=now)
    assert (row.state, row.not_before) == (State.APPROVED, now + 7 * DAYS)
    assert changes_tick(now=now + 6 * DAYS) == 0
    # A worker's clock that runs ahead does not shorten the delay: the database's counts.
    assert changes_tick(now=now + 8 * DAYS) == 0
    assert s3.puts() == 0
    LifecycleChange.objects.filter(pk=row.pk).update(not_before=now - DAYS)
    assert changes_tick(now=timezone.now()) == 1
    row.refresh_from_db()
    assert (row.state, s3.ids()) == (State.APPLIED, [EXPIRE["ID"]])
    with pytest.raises(ValidationError, match="Nothing takes this change back"):
        changes.change_revert(change=row, actor=ASKER, now=now)


def test_an_approval_that_no_longer_stands_stops_the_write(s3: Rules, account: StorageAccount) -> None:
    row = approved(account)
    Membership.objects.filter(user__email="eve@example.com").update(role=Role.VIEWER)
    assert change_run(change_id=row.pk, now=timezone.now()) == State.REFUSED
    assert s3.puts() == 0
    viewer = Membership.objects.get(user__email="eve@example.com")
    with pytest.raises(ValidationError, match="Your role may not approve"):
        changes.change_approve(change=asked(account), membership=viewer, now=timezone.now())


def test_an_applied_change_is_taken_back_as_it_was(s3: Rules, account: StorageAccount) -> None:
    row = approved(account)
    change_run(change_id=row.pk, now=timezone.now())
    row.refresh_from_db()
    back = changes.change_revert(change=row, actor=ASKER, now=timezone.now())
    assert (back.reverts, back.after) == (row, {})
    changes.change_approve(change=back, membership=member("fay"), now=timezone.now())
    assert change_run(change_id=back.pk, now=timezone.now()) == State.APPLIED
    assert s3.buckets["lake"] == ""
    assert s3.calls[-2][0] == "DELETE"
    with pytest.raises(ValidationError, match="changed since"):
        changes.change_revert(change=row, actor=ASKER, now=timezone.now())


def test_a_write_whose_answer_was_lost_is_found_done(s3: Rules, account: StorageAccount) -> None:
    row = approved(account)
    s3.faults["PUT"] = ["500 after"] * 5
    with pytest.raises(TransientError):
        change_run(change_id=row.pk, now=timezone.now())
    row.refresh_from_db()
    assert row.state == State.APPROVED
    puts = s3.puts()
    assert changes_tick(now=timezone.now()) == 1
    row.refresh_from_db()
    assert (row.state, s3.puts()) == (State.APPLIED, puts)


def test_a_worker_that_died_is_followed_by_the_next(s3: Rules, account: StorageAccount) -> None:
    row = approved(account)
    LifecycleChange.objects.filter(pk=row.pk).update(
        state=State.APPLYING, claimed_at=timezone.now() - timedelta(hours=1)
    )
    assert changes_tick(now=timezone.now()) == 1
    row.refresh_from_db()
    assert (row.state, s3.puts()) == (State.APPLIED, 1)


def test_a_bucket_that_shows_the_old_rules_for_a_while_is_read_again(
    s3: Rules, account: StorageAccount
) -> None:
    row = approved(account)
    s3.lag = 3
    assert change_run(change_id=row.pk, now=timezone.now()) == State.APPLIED
    s3.lag = 50
    other = asked(account, EXPIRE)
    for name in ("ann", "ben"):
        other = changes.change_approve(change=other, membership=member(name), now=timezone.now())
    LifecycleChange.objects.filter(pk=other.pk).update(not_before=timezone.now() - DAYS)
    with pytest.raises(TransientError, match="does not show them yet"):
        change_run(change_id=other.pk, now=timezone.now())


def test_one_change_of_a_bucket_is_in_flight_at_a_time(s3: Rules, account: StorageAccount) -> None:
    first, second = asked(account), asked(account, {**TIER, "ID": "offpeak-x"})
    eve = member("eve")
    for row in (first, second):
        changes.change_approve(change=row, membership=eve, now=timezone.now())
    LifecycleChange.objects.filter(pk=first.pk).update(state=State.APPLYING, claimed_at=timezone.now())
    assert change_run(change_id=second.pk, now=timezone.now()) == ""
    assert s3.puts() == 0


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ((), "rules"),
        (({**TIER, "Transitions": [{"Days": 1, "StorageClass": "STANDARD_IA"}]},), "rules"),
        (({"ID": "x"},), "rules"),
        (({**TIER, "Transitions": [{"Days": 1}]},), "rules"),
    ],
)
def test_rules_that_cannot_be_written_are_refused(
    s3: Rules, account: StorageAccount, rules: Any, field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        changes.change_request(
            organisation=account.organisation, actor=ASKER, account=account, bucket="lake", rules=rules,
            now=timezone.now(),
        )  # fmt: skip
    assert list(refused.value.message_dict) == [field]
    assert not LifecycleChange.objects.exists()


def test_accounts_of_others_frozen_ones_and_wrong_credentials(s3: Rules, account: StorageAccount) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    with pytest.raises(ValidationError, match="An admin names one"):
        changes.change_request(
            organisation=other, actor=ASKER, account=account, bucket="lake", rules=[TIER], now=timezone.now()
        )
    row = approved(account)
    StorageAccount.objects.update(active=False)
    assert change_run(change_id=row.pk, now=timezone.now()) == State.REFUSED
    s3.account = "999988887777"
    with pytest.raises(ValidationError, match="belong to account 999988887777"):
        asked(account)
    assert s3.puts() == 0


def test_late_and_cancelled_changes_are_not_written(s3: Rules, account: StorageAccount) -> None:
    row = asked(account, now=datetime(2026, 1, 1, tzinfo=UTC))
    assert changes_tick(now=timezone.now()) == 1
    row.refresh_from_db()
    assert row.state == State.EXPIRED
    other = approved(account)
    with pytest.raises(ValidationError, match="Say why"):
        changes.change_cancel(change=other, actor=ASKER, now=timezone.now(), reason=" ")
    changes.change_cancel(change=other, actor=ASKER, now=timezone.now(), reason="not now")
    assert (changes_tick(now=timezone.now()), s3.puts()) == (0, 0)
    assert actions()[-1] == "lifecycle.cancel"


def test_the_role_needs_three_rights_and_no_other() -> None:
    policy = lifecycle_policy(["lake"], write=True)
    assert policy["Statement"][0]["Action"] == [
        "s3:GetLifecycleConfiguration", "s3:ListBucket", "s3:PutLifecycleConfiguration",
    ]  # fmt: skip
    assert policy["Statement"][0]["Resource"] == ["arn:aws:s3:::lake"]
    assert "s3:Put" not in str(lifecycle_policy(["lake"], write=False))
    assert SMALLEST
