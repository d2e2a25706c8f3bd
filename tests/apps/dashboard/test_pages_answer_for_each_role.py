"""Pages on made-up prices: what they say, who may see them, and how many queries they take."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import ApiKey, AuditEntry, Membership
from apps.ingest.models import Feed, IngestRun

QUERIES = json.loads((Path(__file__).parent / "query_counts.json").read_text())
SignIn = Callable[..., Client]
RUN = (
    "/run/?hours=8&types=m5.large&regions=us-east-1&regions=us-west-2&home_zone=us-east-1b"
    "&slack_hours=24&interruptible=on"
)


def h1(response: Any) -> str:
    text = response.content.decode()
    inner = text.split("<h1>", 1)[1].split("</h1>", 1)[0]
    return inner.replace('<span class="key">', "").replace("</span>", "").strip()


def rows_of(response: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode())))


@pytest.mark.parametrize("address", ["/", "/market/", "/run/", "/data/", "/settings/", "/settings/audit/"])
def test_every_page_asks_for_a_sign_in(address: str, client: Client, db: None) -> None:
    response = client.get(address)
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/?next=")


def test_an_expired_session_sends_the_whole_page_to_the_sign_in(client: Client, db: None) -> None:
    response = client.get("/data/runs/", headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Redirect"]) == (401, "/accounts/login/")


def test_the_first_page_is_the_overview(sign_in: SignIn) -> None:
    assert sign_in("viewer").get("/")["Location"] == "/overview/"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("/market/", "No prices are loaded: there is nothing to compare yet."),
        ("/run/", "Advice needs prices: none are loaded yet."),
        ("/data/", "No prices are loaded yet: load a file or start a feed."),
    ],
)
def test_empty_pages_say_what_to_do(address: str, says: str, sign_in: SignIn, empty_lake: Path) -> None:
    response = sign_in("viewer").get(address)
    assert response.status_code == 200
    assert h1(response) == says
    assert "No prices yet. Load a file or start the AWS feed." in response.content.decode()


def test_market_states_the_moment_the_spread_and_the_flat_week(sign_in: SignIn, loaded: IngestRun) -> None:
    response = sign_in("viewer").get("/market/?type=m5.large&days=30")
    text = response.content.decode()
    assert h1(response) == (
        "m5.large has no off-peak hour: time of week moves it by 0.1\u202f%, the zone by 33.3\u202f%."
    )
    assert len(h1(response)) <= 90
    assert "Prices end 10 Feb 2020; answers are for 10 Feb 2020 00:00 UTC." in text
    assert "Flat: every cell lies between" in text
    assert "False here" in text
    assert text.count("<tr") > 3
    assert 'aria-label="us-east-1b was the dearest zone in four of four weeks"' in text


def test_market_answers_its_region_alone_to_htmx(sign_in: SignIn, loaded: IngestRun) -> None:
    response = sign_in("viewer").get("/market/", headers={"HX-Request": "true"})
    assert "<html" not in response.content.decode()
    assert "HX-Request" in response["Vary"]
    assert h1(response)


def test_market_exports_what_the_table_shows(sign_in: SignIn, loaded: IngestRun) -> None:
    table = rows_of(sign_in("viewer").get("/market/?type=m5.large&format=csv"))
    assert table[0][:3] == ["region", "zone", "price now, USD per hour"]
    assert [row[1] for row in table[1:]] == ["us-west-2a", "us-east-1a", "us-east-1b"]
    assert table[1][2] == "0.9"


@pytest.mark.parametrize(
    "query", ["type=%3Cscript%3E", "days=-5", "tz=Mars%2FBase", "region=nowhere", "at=yesterday"]
)
def test_nonsense_in_the_address_falls_back(query: str, sign_in: SignIn, loaded: IngestRun) -> None:
    response = sign_in("viewer").get(f"/market/?{query}")
    assert response.status_code == 200
    assert "<script>" not in response.content.decode()


def test_an_earlier_moment_sees_only_earlier_prices(sign_in: SignIn, loaded: IngestRun) -> None:
    text = sign_in("viewer").get("/market/?type=m5.large&days=30&at=2020-01-20T00:00:00Z").content.decode()
    assert "Answers are for 20 Jan 2020 00:00 UTC, as the address asks." in text
    assert "10 Feb" not in text.split("<main", 1)[1]


def test_run_answers_from_the_address(sign_in: SignIn, loaded: IngestRun) -> None:
    response = sign_in("viewer").get(RUN)
    assert response.status_code == 200
    assert "us-west-2a now saves 25.0\u202f%." in h1(response)
    assert "advise_launch --hours 8" in response.content.decode()


def test_run_says_what_the_service_says(sign_in: SignIn, loaded: IngestRun) -> None:
    from datetime import UTC, datetime

    from apps.recommendations.services import advise_launch

    table = rows_of(sign_in("viewer").get(RUN + "&format=csv"))
    document = advise_launch(
        hours=8.0, types=["m5.large"], regions=["us-east-1", "us-west-2"], home_zone="us-east-1b",
        slack_hours=24.0, interruptible=True, product="Linux/UNIX", at=datetime(2020, 2, 10, tzinfo=UTC),
    )  # fmt: skip
    cost = table[0].index("cost")
    assert [row[cost] for row in table[1:]] == [plan["cost"] for plan in document["plans"]]


def test_page_verb_and_rest_tell_one_figure_of_waiting(
    sign_in: SignIn, loaded: IngestRun, capsys: pytest.CaptureFixture[str]
) -> None:
    from django.core.management import call_command

    asked = {
        "hours": 8, "types": ["m5.large"], "regions": ["us-east-1", "us-west-2"], "home_zone": "us-east-1b",
        "slack_hours": 24, "product": "Linux/UNIX", "at": "2020-02-10T00:00:00Z",
    }  # fmt: skip
    words = [
        word
        for name, value in asked.items()
        for word in (
            f"--{name.replace('_', '-')}",
            ",".join(value) if isinstance(value, list) else str(value),
        )
    ]
    browser = sign_in("engineer")
    rest = browser.post("/api/v1/advice/launch", json.dumps(asked), content_type="application/json").json()
    page = browser.get(RUN)
    cache.clear()
    capsys.readouterr()
    call_command("advise_launch", *words, "--json")
    assert json.loads(capsys.readouterr().out) == rest

    said = rest["waiting"]["sentence"]
    assert rest["sentence"].startswith(said)
    assert h1(page).startswith(said)
    (stay,) = (c for c in rest["flexibility"] if (c["wait_hours"], c["where"]) == (24, "home"))
    assert stay["saving_pct"] == rest["waiting"]["saving_pct"]
    assert said == f"Waiting is not worth it: {stay['saving_pct']:.1f}\u202f%."


def test_run_names_each_entry_that_has_to_change(sign_in: SignIn, loaded: IngestRun) -> None:
    response = sign_in("viewer").get("/run/?hours=0&types=m5.large&gpu=V100")
    assert response.status_code == 422
    assert h1(response) == "2 entries have to change before there is an answer."
    assert "Give instance types or minimum sizes, not both." in response.content.decode()


def test_data_shows_runs_ranges_and_rejections(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("viewer")
    response = browser.get("/data/")
    assert h1(response) == "3 price series in 2 regions, known to 10 Feb 2020 00:00 UTC."
    assert "This needs the role engineer or admin." in response.content.decode()
    run = browser.get(f"/data/runs/{loaded.pk}/")
    assert h1(run) == f"{loaded.stored} of {loaded.rows_read} rows are stored, 1 were rejected."
    exported = rows_of(browser.get(f"/data/runs/{loaded.pk}/?format=csv"))
    assert len(exported) == 2
    assert not any(cell.startswith("=") for row in exported for cell in row)


def test_an_engineer_uploads_a_file_and_sees_its_run(
    sign_in: SignIn, empty_lake: Path, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:  # fmt: skip
    from apps.ingest import tasks

    settings.OFFPEAK_HOME = tmp_path
    queued: list[int] = []
    monkeypatch.setattr(tasks.ingest_run_execute, "delay", queued.append)
    browser = sign_in("engineer")
    with django_capture_on_commit_callbacks(execute=True):
        response = browser.post(
            "/data/upload/", {"file": io.BytesIO(b'{"SpotPriceHistory": []}'), "region": ""}
        )
    run = IngestRun.objects.get()
    assert response["Location"] == f"/data/runs/{run.pk}/"
    assert (run.state, run.kind, queued) == ("queued", "upload", [run.pk])
    entry = AuditEntry.objects.get(action="ingest.load")
    assert (entry.object_id, entry.after["kind"]) == (str(run.pk), "upload")
    assert "every 2s" in browser.get(response["Location"]).content.decode()


@pytest.mark.parametrize("role", ["viewer", "finance"])
def test_who_may_not_load_is_told_whom_to_ask(role: str, sign_in: SignIn, db: None) -> None:
    response = sign_in(role).post("/data/upload/", {})
    assert response.status_code == 403
    assert "This needs the role engineer or admin." in response.content.decode()
    assert IngestRun.objects.count() == 0


def test_an_engineer_creates_and_pauses_a_feed(sign_in: SignIn, empty_lake: Path) -> None:
    browser = sign_in("engineer")
    given = {"name": "east", "regions": "us-east-1, us-east-1", "minutes": "15"}
    assert browser.post("/data/feeds/", given).status_code == 302
    feed = Feed.objects.get()
    assert (feed.regions, feed.state) == (["us-east-1"], "new")
    assert browser.post("/data/feeds/", given).status_code == 422
    browser.post(f"/data/feeds/{feed.pk}/switch/")
    feed.refresh_from_db()
    assert feed.state == "off"
    assert list(AuditEntry.objects.values_list("action", flat=True)) == ["feed.switch", "feed.create"]


def test_a_key_is_shown_once(sign_in: SignIn) -> None:
    browser = sign_in("admin")
    shown = browser.post("/settings/keys/", {"name": "CI", "scopes": ["read:advice"], "expires_days": "30"})
    key = ApiKey.objects.get()
    assert shown.content.decode().count(f"opk_{key.prefix}_") == 2  # the token, and the row of the table
    assert "no-store" in shown["Cache-Control"]
    again = browser.get("/settings/").content.decode()
    assert f"opk_{key.prefix}_…" in again
    assert again.count(f"opk_{key.prefix}_") == 1
    browser.post(f"/settings/keys/{key.pk}/revoke/")
    key.refresh_from_db()
    assert key.revoked_at is not None


def test_the_last_admin_stays(sign_in: SignIn) -> None:
    browser = sign_in("admin")
    member = Membership.objects.get(role="admin")
    response = browser.post(f"/settings/members/{member.pk}/remove/", follow=True)
    assert "This is the last admin. Make somebody else admin first." in response.content.decode()
    assert Membership.objects.filter(pk=member.pk).exists()


@pytest.mark.parametrize("address", ["/settings/keys/", "/settings/members/", "/data/path/"])
def test_admin_actions_are_refused_to_others(address: str, sign_in: SignIn) -> None:
    assert sign_in("engineer").post(address, {}).status_code == 403


def test_preferences_follow_the_person(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("viewer")
    browser.post(
        "/settings/profile/",
        {"name": "Ada", "language": "zh-hans", "time_zone": "Asia/Shanghai", "theme": "dark"},
    )
    text = browser.get("/market/").content.decode()
    assert '<html lang="zh-Hans" data-theme="dark">' in text
    assert "价格截至 2020年2月10日" in text
    assert "2020年2月10日 08:00 CST" in text


def test_appearance_returns_only_to_our_own_pages(sign_in: SignIn) -> None:
    browser = sign_in("viewer")
    response = browser.post("/settings/appearance/", {"theme": "dark", "next": "https://evil.example/"})
    assert response["Location"] == "/"
    assert response.cookies["offpeak_theme"].value == "dark"


def test_pages_ship_no_script_of_their_own(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("admin")
    for address in ("/market/", RUN, "/data/", "/settings/"):
        response = browser.get(address)
        assert "script-src 'self'" in response["Content-Security-Policy"]
        for tag in response.content.decode().split("<script")[1:]:
            assert tag.startswith((' src="/static/', ' type="application/json"')), address


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_the_number_of_queries_is_frozen(name: str, sign_in: SignIn, loaded: IngestRun) -> None:
    address, expected = QUERIES[name]["address"], QUERIES[name]["queries"]
    browser = sign_in("admin")
    cache.clear()
    browser.get(address)
    with CaptureQueriesContext(
        connection,
    ) as caught:
        assert browser.get(address).status_code == 200
    assert len(caught) == expected, [query["sql"][:120] for query in caught]
