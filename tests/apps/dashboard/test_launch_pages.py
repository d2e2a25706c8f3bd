"""Pages of launches: who sees what, saying yes, cancelling, freezing; in two organisations."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone, translation

from apps.accounts.models import Membership, Organisation, User
from apps.accounts.roles import Role
from apps.dashboard.presenters.launches import lanes
from apps.launches.models import (
    Attempt,
    Checkpoint,
    Launch,
    LaunchBudget,
    LaunchGuard,
    LaunchPlan,
    LaunchState,
    LaunchYes,
    PlanState,
    Stray,
)
from apps.launches.services.timeline import launch_event
from apps.launches.wording import event_text, why_text
from tests.support.launches import launch, plan, target

pytestmark = pytest.mark.django_db


def signed_in(role: Role, organisation: Organisation | None = None) -> Client:
    organisation = organisation or Organisation.default()
    user = User.objects.create_user(f"{role}@{organisation.slug}.example", "pw")
    Membership.objects.create(user=user, organisation=organisation, role=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def story() -> Launch:
    """A launch that was refused, interrupted, and runs again."""
    now = timezone.now()
    made = plan(target(), due_at=now - timedelta(hours=2), hours=4.0)
    one = launch(made, state=LaunchState.RUNNING, first_started_at=now - timedelta(hours=2), done_hours=0.75)
    start = now - timedelta(hours=2)
    common: dict[str, Any] = {
        "launch": one, "market": "spot", "zone": "use1-az1", "region": "us-east-1", "tags": {},
        "parameters": {}, "instance_type": "m5.large", "price": Decimal("0.04"), "currency": "USD",
    }  # fmt: skip
    refused = "InsufficientInstanceCapacity"
    Attempt.objects.create(**common, number=1, token="a", state="refused", code=refused, prepared_at=start)
    Attempt.objects.create(
        **common, number=2, token="b", state="ended", ending="interrupted", prepared_at=start, machine="i-1",
        started_at=start, ended_at=start + timedelta(hours=1), paid=Decimal("0.04"), lost_hours=0.25,
    )  # fmt: skip
    last = Attempt.objects.create(
        **common, number=3, token="c", state="running", prepared_at=start + timedelta(hours=1), machine="i-2",
        started_at=start + timedelta(hours=1),
    )  # fmt: skip
    Checkpoint.objects.create(attempt=last, at=now, marked_at=now, work_hours=0.75, name="c3")
    launch_event(one, "refused", attempt=1, code="InsufficientInstanceCapacity", next="next pool")
    launch_event(one, "ended", machine="i-1", ending="interrupted", lost=0.25)
    return one


def text(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    return str(answer.content.decode())


def test_empty_pages_say_what_to_do() -> None:
    client = signed_in(Role.ENGINEER)
    assert "Nothing runs and nothing waits" in text(client, "/launches/")
    assert "No plan has been made." in text(client, "/launches/plans/")
    assert "No target may launch." in text(client, "/launches/plans/new/")


def test_the_queue_and_one_launch(story: Launch) -> None:
    client = signed_in(Role.ENGINEER)
    later = launch(story.plan, due_at=timezone.now() + timedelta(hours=3))
    LaunchBudget.objects.create(organisation=story.organisation, monthly=10, currency="USD")
    now = timezone.now()
    Stray.objects.create(
        target=story.plan.target, machine="i-9", launched_at=now, first_seen_at=now, seen_at=now
    )
    page = text(client, "/launches/")
    for words in ("machine runs and 1 launch waits", "It is due at", "up to $0.30", "i-9", "$10.00"):
        assert words in page, words
    page = text(client, f"/launches/{story.pk}/")
    for words in (
        "Nightly runs: <span class=\"key\">0.75 h</span> of 4.00 h",
        'left:0.000%">no capacity</span>',
        '<td>Refused<span class="sub">no capacity</span><span class="sub mono anywhere">'
        "InsufficientInstanceCapacity</span></td>",
        "Attempt 1 was refused: no capacity (InsufficientInstanceCapacity). Next: the next offer.",
        "Machine i-1 ended: taken back by the provider. 0.25 h of work were lost.", "class=\"tick\"",
    ):  # fmt: skip
        assert words in page, words
    assert text(client, f"/launches/{later.pk}/")


def test_one_launch_tells_sums_places_and_checkpoints(story: Launch) -> None:
    """By hand: 1 h ran on i-1 and cost 0.04; i-2 runs for an hour by now. 0.25 h lost cost 0.0100."""
    Launch.objects.filter(pk=story.pk).update(lost_cost=Decimal("0.01"))
    Checkpoint.objects.create(
        attempt=story.attempts.get(number=3), at=timezone.now(), work_hours=1.25, name="c4"
    )
    page = text(signed_in(Role.VIEWER), f"/launches/{story.pk}/")
    assert "use1-az1" not in page  # the plan says us-east-1a, so does what ran
    for words in (
        "so far; priced attempts: 1 of 2", "$0.0400", "$0.0100", "Cost so far",
        '<td class="num">4.00</td>',
        '<td class="num">2.00</td>', "c3", "not found: it does not count", "in UTC", "0.0400 USD",
    ):  # fmt: skip
        assert words in page, words
    detail = signed_in(Role.ENGINEER).get(f"/api/v1/launches/{story.pk}").json()
    assert detail["plan_against_actual"]["cost"]["difference"] is None
    Attempt.objects.filter(launch=story, number=3).update(
        state="ended", ending="done", paid=Decimal("0.07"), ended_at=timezone.now()
    )
    Launch.objects.filter(pk=story.pk).update(
        state=LaunchState.COMPLETED, ended_at=timezone.now(), paid=Decimal("0.11"), currency="USD"
    )
    page = text(signed_in(Role.ADMIN), f"/launches/{story.pk}/")
    for words in ('is done and cost <span class="key">$0.11</span>', "from prices of the hours that ran"):
        assert words in page, words
    assert "so far" not in page
    detail = signed_in(Role.FINANCE).get(f"/api/v1/launches/{story.pk}").json()
    assert detail["plan_against_actual"]["cost"] == {
        "planned": "0.08", "actual": "0.11", "difference": "0.03"
    }  # fmt: skip


def test_done_past_the_deadline_and_on_demand_for_now_are_said_by_page_and_api(story: Launch) -> None:
    """Deadline 6 h after the start, 8 h after it was due; done 90 minutes later."""
    client = signed_in(Role.ENGINEER)
    Attempt.objects.filter(launch=story, number=3).update(market="on-demand")
    assert "It runs on demand for now." in text(client, "/launches/")
    address = f"/api/v1/launches/{story.pk}"
    assert client.get(address).json()["reason"] == "It runs on demand for now."
    deadline = story.deadline
    assert deadline is not None
    Launch.objects.filter(pk=story.pk).update(
        state=LaunchState.COMPLETED, why="done", ended_at=deadline + timedelta(minutes=90)
    )
    late = "The work is done, 1 h after its deadline."
    assert late in text(client, "/launches/")
    assert late in text(client, f"/launches/{story.pk}/")
    assert client.get(address).json()["reason"] == late
    Launch.objects.filter(pk=story.pk).update(ended_at=deadline)
    assert client.get(f"/api/v1/launches/{story.pk}").json()["reason"] == "The work is done."


def test_reasons_write_money_with_its_currency_and_are_in_the_reader_s_language() -> None:
    above = {"cost": "12.4", "spent": "3.2", "high": "0.2856", "currency": "USD"}
    budget = {"whose": "the organisation", "month": "2026-12", "spent": "90", "high": "9", "monthly": "1095",
              "currency": "USD"}  # fmt: skip
    cap = {"cap": "0.01", "price": "0.0042", "currency": "EUR"}
    assert why_text("above_plan", above) == (
        "It would need up to $12.40 in all, $3.20 of it spent already; approved are $0.2856. Approve the "
        "higher amount, or cancel it."
    )
    assert why_text("price_cap", cap) == (
        "Every offer left is dearer than the cap of €0.0100 an hour; the cheapest costs €0.00420."
    )
    assert why_text("frozen", {"reason": "audit."}) == "Launches are frozen: audit."
    with translation.override("zh-hans"):
        assert why_text("budget", budget) == (
            "组织 在 2026-12 的预算不足：已花费或承诺 $90.00，此次最多需要 $9.00，上限为 $1,095.00。"
        )


def test_a_move_is_no_loss_and_seconds_of_work_are_no_powers_of_ten(story: Launch) -> None:
    Attempt.objects.filter(launch=story, number=2).update(ending="moved")
    found = lanes(story, list(story.attempts.order_by("number")), timezone.now())
    assert [one["kind"] for one in found["attempts"]] == ["bad", "on", "on"]
    told = {"machine": "i-1", "ending": "moved", "lost": 1.1e-05}
    assert event_text("ended", told) == (
        "Machine i-1 ended: the work moved to another machine. 0 h of work were lost."
    )
    assert event_text("checkpoint", {"name": "c", "hours": 5.494}) == "Checkpoint c holds 5.49 h of work."
    Launch.objects.filter(pk=story.pk).update(lost_cost=Decimal("0.0000011"))
    assert "$0.0000" not in text(signed_in(Role.VIEWER), f"/launches/{story.pk}/")


def test_machines_of_one_turn_are_one_line_of_the_calendar() -> None:
    made = plan(target(), due_at=timezone.now() + timedelta(hours=3), count=3)
    for part in (1, 2, 3):
        launch(made, part=part)
    page = signed_in(Role.VIEWER).get("/launches/")
    (_day, lines), = page.context["days"]  # fmt: skip
    assert [(one["count"], round(one["cost"], 10)) for one in lines] == [(3, Decimal("0.08"))]
    assert f'3 × <a href="/launches/plans/{made.pk}/">Nightly</a>' in page.content.decode()


def test_a_long_story_shows_its_newest_hundred_lines(story: Launch) -> None:
    last = story.attempts.get(number=3)
    for number in range(120):
        Checkpoint.objects.create(attempt=last, at=timezone.now(), work_hours=1.0, name=f"mark-{number:03}")
        launch_event(story, "checkpoint", name=f"mark-{number:03}", hours=1.0)
    page = signed_in(Role.VIEWER).get(f"/launches/{story.pk}/")
    assert (len(page.context["events"]), page.context["older_events"]) == (100, 22)
    assert (len(page.context["marks"]), page.context["older_marks"]) == (100, 21)
    content = page.content.decode()
    assert "22 older ones are left out: the API has all." in content
    assert ("mark-119" in content, "mark-019" in content) == (True, False)


def test_a_machine_that_runs_past_the_plan_is_on_the_axis(story: Launch) -> None:
    """Planned 4 h from 2 h ago; seen 8 h later, attempt 3 has run 9 of the 10 h: from a tenth to the end."""
    later = timezone.now() + timedelta(hours=8)
    found = lanes(story, list(story.attempts.order_by("number")), later)
    assert found["end"] == later
    running = found["attempts"][2]
    assert (float(running["left"]), float(running["width"])) == pytest.approx((10, 90), abs=0.1)
    assert (float(found["plan"]["width"]), running["inside"]) == (pytest.approx(40, abs=0.1), True)


def test_a_launch_that_asks_says_what_for_and_stands_before_what_waits(story: Launch) -> None:
    now = timezone.now()
    launch(story.plan, part=2, due_at=now - timedelta(hours=9), next_at=now - timedelta(hours=9))
    asks = launch(
        story.plan, part=3, due_at=now, state=LaunchState.INTERRUPTED, asked_high=Decimal("0.39"),
        approved_high=Decimal("0.35"), paid=Decimal("0.18"), currency="USD",
    )  # fmt: skip
    client = signed_in(Role.FINANCE)
    page = client.get("/launches/")
    assert [one["it"].part for one in page.context["live"]] == [1, 3, 2]
    content = page.content.decode()
    for words in ("paid so far $0.18", "up to $0.35", "It runs."):
        assert words in content, words
    page_of_it = text(client, f"/launches/{asks.pk}/")
    assert 'Nightly asks for up to <span class="key">$0.39</span>' in page_of_it
    assert "Approve up to $0.39" in page_of_it
    person = User.objects.get(email__startswith="finance@")
    LaunchYes.objects.create(launch=asks, user=person, role=Role.FINANCE, high=Decimal("0.39"), at=now)
    page_of_it = text(client, f"/launches/{asks.pk}/")
    assert "Approve up to $0.39" not in page_of_it
    assert "The next yes comes from another person" in page_of_it
    assert "Approve up to $0.39" in text(signed_in(Role.ADMIN), f"/launches/{asks.pk}/")


def test_plans_that_wait_stand_before_newer_ones() -> None:
    place = target()
    first = plan(place, state=PlanState.REQUESTED)
    plan(place)
    page = signed_in(Role.VIEWER).get("/launches/plans/")
    assert page.context["rows"][0]["it"] == first


def test_a_plan_is_approved_and_cancelled_with_a_reason() -> None:
    made = plan(state=PlanState.REQUESTED)
    admin = signed_in(Role.ADMIN)
    page = text(admin, f"/launches/plans/{made.pk}/")
    assert "Approve up to $0.30" in page
    LaunchPlan.objects.filter(pk=made.pk).update(valid_until=timezone.now() + timedelta(days=1))
    assert admin.post(f"/launches/plans/{made.pk}/approve/").status_code == 302
    made.refresh_from_db()
    assert (made.state, made.launches.count()) == (PlanState.APPROVED, 1)
    assert admin.post(f"/launches/plans/{made.pk}/cancel/", {"reason": ""}).status_code == 422
    one = made.launches.get()
    Launch.objects.filter(pk=one.pk).update(state="queued", ended_at=None)
    assert admin.post(f"/launches/{one.pk}/cancel/", {"reason": "no"}).status_code == 302
    one.refresh_from_db()
    assert one.state == LaunchState.CANCELLED
    assert admin.post(f"/launches/plans/{made.pk}/cancel/", {"reason": "no"}).status_code == 302
    made.refresh_from_db()
    assert made.state == PlanState.CANCELLED


def test_roles_may_what_they_may(story: Launch) -> None:
    made = plan(story.plan.target, name="Asked", state=PlanState.REQUESTED)
    viewer, engineer, finance = (signed_in(role) for role in (Role.VIEWER, Role.ENGINEER, Role.FINANCE))
    assert "Cancel this launch" not in text(viewer, f"/launches/{story.pk}/")
    assert "Approving needs the role finance or admin." in text(engineer, f"/launches/plans/{made.pk}/")
    for client, address in (
        (viewer, f"/launches/{story.pk}/cancel/"), (finance, f"/launches/{story.pk}/cancel/"),
        (engineer, f"/launches/plans/{made.pk}/approve/"), (engineer, "/launches/freeze/"),
        (viewer, "/launches/freeze/"),
    ):  # fmt: skip
        assert client.post(address, {"reason": "x", "frozen": "yes"}).status_code == 403, address
    assert LaunchGuard.objects.filter(frozen=True).count() == 0
    assert finance.post("/launches/freeze/", {"reason": "audit", "frozen": "yes"}).status_code == 302
    assert "audit" in text(viewer, "/launches/")
    assert finance.post("/launches/freeze/", {"reason": "", "frozen": "no"}).status_code == 422
    assert finance.post("/launches/freeze/", {"reason": "x", "frozen": "maybe"}).status_code == 422
    assert finance.post("/launches/freeze/", {"reason": "x"}).status_code == 422
    assert LaunchGuard.objects.get().frozen is True


def test_another_organisation_sees_nothing(story: Launch) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    client = signed_in(Role.ADMIN, other)
    assert "Nightly" not in text(client, "/launches/")
    for address in (f"/launches/{story.pk}/", f"/launches/plans/{story.plan_id}/", "/launches/999999/"):
        text(client, address, 404)
    for address in (f"/launches/{story.pk}/cancel/", f"/launches/plans/{story.plan_id}/approve/"):
        assert client.post(address, {"reason": "x"}).status_code == 404
    story.refresh_from_db()
    assert story.state == LaunchState.RUNNING


def test_planning_shows_first_and_keeps_then(monkeypatch: pytest.MonkeyPatch) -> None:
    from apps.workloads.models import Workload

    place = target()
    saved = Workload.objects.create(
        organisation=place.organisation, name="Nightly", hours=2.0, types=["m5.large"], regions=["us-east-1"],
        product="Linux/UNIX", slack_hours=6.0,
    )  # fmt: skip
    offer: dict[str, Any] = {
        "rank": 1, "market": "spot", "region": "us-east-1", "zone": "z", "zone_name": "us-east-1a",
        "type": "m5.large", "price": "0.04", "currency": "USD", "cost": "0.08", "cost_low": "0.08",
        "cost_high": "0.09", "start": None, "reason": "",
    }  # fmt: skip
    monkeypatch.setattr(
        "apps.launches.services.planning.advise_launch",
        lambda **given: {"sentence": "Now.", "plans": [offer]},
    )
    client = signed_in(Role.ENGINEER)
    body = {"workload": str(saved.pk), "target": place.name, "priority": "5", "preemption": "Never",
            "start_minutes": "60"}  # fmt: skip
    page = client.post("/launches/plans/new/", {**body, "look": "1"})
    assert (page.status_code, LaunchPlan.objects.count()) == (200, 0)
    assert "about $0.08, at most $0.09" in page.content.decode()
    assert client.post("/launches/plans/new/", {**body, "priority": "1001"}).status_code == 422
    assert client.post("/launches/plans/new/", body).status_code == 302
    made = LaunchPlan.objects.get()
    assert (made.priority, made.workload_id, made.state) == (5, saved.pk, PlanState.REQUESTED)
