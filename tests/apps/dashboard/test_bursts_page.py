"""Help for queues on its page, by REST and by the verb: the same rule and refusals, by role, audited."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.models import AuditEntry, Organisation, Team
from apps.accounts.roles import Role
from apps.catalog.models import Pool
from apps.launches.models import LaunchBurst, LaunchState, PlanState, Work
from apps.launches.services.bursts import burst_step
from tests.apps.dashboard.test_launch_pages import signed_in
from tests.support.launches import launch, plan, target

pytestmark = pytest.mark.django_db
PAGE, API = "/launches/bursts/", "/api/v1/launch-bursts"
GIVEN = {
    "name": "nights", "pool": "rack", "target": "market", "team": "", "start": "8", "stop": "2", "most": "4",
    "hours": "6", "types": "m5.large, c5.xlarge", "regions": "z", "product": "Linux/UNIX", "active": "on",
    "sure": "on",
}  # fmt: skip
BODY: dict[str, Any] = {
    "name": "nights", "pool": "rack", "target": "market", "start": 8, "stop": 2, "most": 4, "hours": 6,
    "job": {"types": ["m5.large", "c5.xlarge"], "regions": ["z"], "product": "Linux/UNIX"},
}  # fmt: skip


@pytest.fixture
def queue() -> Pool:
    organisation = Organisation.default()
    target(name="market", executor="simulated", account="",
           settings={"pools": {"z": "1"}, "begins": "2026-01-01T00:00:00Z"})  # fmt: skip
    free = Decimal(0)
    return Pool.objects.create(
        organisation=organisation, name="rack", kind="own", units=2, currency="USD", power=free, wear=free
    )


def burst(pool: Pool, **changes: Any) -> LaunchBurst:
    place = pool.organisation.launch_targets.get(name="market")
    given: dict[str, Any] = {
        "name": "nights",
        "start": 8.0,
        "stop": 2.0,
        "most": 4,
        "hours": 6.0,
        "job": BODY["job"],
    }
    return LaunchBurst.objects.create(
        organisation=pool.organisation, pool=pool, target=place, **given | changes
    )


def kept() -> list[tuple[Any, ...]]:
    return list(LaunchBurst.objects.values_list("name", "start", "most", "active", "job"))


def test_the_page_rest_and_the_verb_keep_the_same_rule(
    queue: Pool, capsys: pytest.CaptureFixture[str]
) -> None:
    Team.objects.create(organisation=queue.organisation, name="ML", slug="ml")
    client = signed_in(Role.ENGINEER)
    answer = client.post(f"{PAGE}keep/", GIVEN | {"team": "ml"})
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    by_page = client.get(API).json()["bursts"]
    LaunchBurst.objects.all().delete()
    client.post(API, BODY | {"team": "ml"}, content_type="application/json")
    by_rest = client.get(API).json()["bursts"]
    assert [{**one, "id": 0} for one in by_page] == [{**one, "id": 0} for one in by_rest]
    call_command("launch_bursts", "--json")
    assert json.loads(capsys.readouterr().out)["bursts"] == by_rest
    assert client.get(f"{API}/{by_rest[0]['id']}").json() == by_rest[0]
    assert AuditEntry.objects.filter(action="launch_burst.save").count() == 2


def test_a_rule_is_changed_in_its_form(queue: Pool) -> None:
    row = burst(queue)
    client = signed_in(Role.ADMIN)
    page = client.get(f"{PAGE}?change={row.pk}").content.decode()
    assert 'value="m5.large, c5.xlarge"' in page
    client.post(f"{PAGE}keep/", GIVEN | {"most": "7", "types": "", "min_vcpu": "8"})
    row.refresh_from_db()
    assert (row.most, row.job) == (7, {"regions": ["z"], "product": "Linux/UNIX", "min_vcpu": 8})
    for odd in ("x", "9" * 30, "²", "999999"):
        assert client.get(f"{PAGE}?change={odd}").status_code == 200


@pytest.mark.parametrize(
    ("changes", "field", "body", "told"),
    [
        ({"stop": "9"}, "start", {"stop": 9}, "start"),
        ({"most": "0"}, "most", {"most": 0}, "most"),
        ({"hours": "721"}, "hours", {"hours": 721}, "hours"),
        ({"pool": "nowhere"}, "pool", {"pool": "nowhere"}, "pool"),
        ({"target": "nowhere"}, "target", {"target": "nowhere"}, "target"),
        ({"regions": ""}, "regions", {"job": {"types": ["m5.large"], "product": "x"}}, "job.regions"),
        ({"types": ""}, "types", {"job": {"regions": ["z"], "product": "x"}}, "job.types"),
        ({"product": "a\x00b"}, "product", {"job": BODY["job"] | {"product": 7}}, "job.product"),
        ({"gpus": "-1"}, "gpus", {"job": BODY["job"] | {"types": "m5.large"}}, "job.types"),
        ({"name": "x" * 81}, "name", {"job": BODY["job"] | {"count": 3}}, "job"),
    ],
)  # fmt: skip
def test_what_is_odd_is_told_at_its_field_and_keeps_nothing(
    queue: Pool, changes: dict[str, str], field: str, body: dict[str, Any], told: str
) -> None:
    client = signed_in(Role.ENGINEER)
    answer = client.post(f"{PAGE}keep/", GIVEN | changes)
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {field}
    refused = client.post(API, BODY | body, content_type="application/json")
    assert refused.status_code == 400
    assert [one["field"] for one in refused.json()["errors"]] == [told]
    assert (kept(), AuditEntry.objects.filter(action__startswith="launch_burst").count()) == ([], 0)


def test_without_the_tick_nothing_is_kept(queue: Pool) -> None:
    client = signed_in(Role.ENGINEER)
    assert client.post(f"{PAGE}keep/", GIVEN | {"sure": ""}).status_code == 422
    assert kept() == []


def test_it_is_switched_off_and_on_once_each(queue: Pool) -> None:
    row = burst(queue)
    client = signed_in(Role.ENGINEER)
    for _again in (1, 2):
        client.post(f"{PAGE}{row.pk}/turn/", {"active": "no"})
    row.refresh_from_db()
    assert (row.active, row.message) == (False, "inactive")
    Work.objects.create(pool=queue, token="t", document={})
    burst_step(burst_id=row.pk, now=timezone.now())
    row.refresh_from_db()
    # Half an hour of backlog is told though nothing is bought for it: 1 h over 2 units.
    assert (row.backlog, row.message, row.plans.count()) == (0.5, "inactive", 0)
    assert "It is switched off" in client.get(PAGE).content.decode()
    client.post(f"{PAGE}{row.pk}/turn/", {"active": "yes"})
    row.refresh_from_db()
    assert (row.active, row.message) == (True, "")
    assert client.post(f"{API}/{row.pk}/off", content_type="application/json").json()["active"] is False
    audit = AuditEntry.objects.filter(action="launch_burst.switch").order_by("pk")
    assert [one.after for one in audit] == [{"active": False}, {"active": True}, {"active": False}]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.FINANCE])
def test_who_may_not_launch_reads_and_changes_nothing(queue: Pool, role: Role) -> None:
    row = burst(queue)
    client = signed_in(role)
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "An engineer or an admin names and changes rules." in page.content.decode()
    assert client.post(f"{PAGE}keep/", GIVEN).status_code == 403
    assert client.post(f"{PAGE}{row.pk}/turn/", {"active": "no"}).status_code == 403
    assert client.post(f"{API}/{row.pk}/off", content_type="application/json").status_code == 403
    assert kept() == [("nights", 8.0, 4, True, BODY["job"])]


def test_another_organisation_sees_and_switches_nothing(queue: Pool) -> None:
    row = burst(queue)
    other = Organisation.objects.create(name="Other", slug="other")
    client = signed_in(Role.ADMIN, other)
    assert "nights" not in client.get(PAGE).content.decode()
    assert 'value="nights"' not in client.get(f"{PAGE}?change={row.pk}").content.decode()
    for answer in (client.post(f"{PAGE}{row.pk}/turn/"), client.get(f"{API}/{row.pk}"),
                   client.post(f"{API}/{row.pk}/off", content_type="application/json")):  # fmt: skip
        assert answer.status_code == 404
    assert client.get(API).json() == {"bursts": []}
    assert kept() == [("nights", 8.0, 4, True, BODY["job"])]


def test_the_page_tells_the_plan_and_what_help_waits_for(queue: Pool) -> None:
    now = timezone.now()
    row = burst(queue, judged_at=now, bursting=True, backlog=None, message="on", name="<b>夜间</b>")
    made = plan(
        row.target, burst=row, state=PlanState.REQUESTED, count=3, valid_until=now + timedelta(days=1)
    )
    client = signed_in(Role.VIEWER)
    page = client.get(PAGE).content.decode()
    assert "Help for <span" in page
    for words in (f"Plan {made.pk} waits for a person. Machines: 3, cost: up to $0.30.", "$0.30",
                  "no machine takes it", "&lt;b&gt;夜间&lt;/b&gt;", "0 of at most 4"):  # fmt: skip
        assert words in page, words
    assert client.get(f"{API}/{row.pk}").json()["plan"] == {
        "id": made.pk, "state": "requested", "machines": 3, "cost_high": "0.3", "currency": "USD",
    }  # fmt: skip
    type(made).objects.update(state=PlanState.APPROVED)
    held = launch(made, due_at=now, why="quota", why_values={"running": 3, "target": "market", "most": 3})
    launch(made, due_at=now, part=2, state=LaunchState.RUNNING)
    found = client.get(f"{API}/{row.pk}").json()
    assert (
        found["waits_for"]
        == f"Launch {held.pk} waits: The limit of market is reached: 3 of at most 3 machines."
    )
    assert (found["machines"], found["running"]) == (2, 1)
    type(held).objects.update(state=LaunchState.CANCELLED, ended_at=now)
    found = client.get(f"{API}/{row.pk}").json()
    assert (found["waits_for"], found["plan"], found["machines"]) == (None, None, 0)
