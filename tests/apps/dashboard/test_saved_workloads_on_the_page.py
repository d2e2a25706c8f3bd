"""The Run page keeps a question under a name, opens it again and tells the next turns."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation, Team
from apps.ingest.models import IngestRun
from apps.workloads.models import Workload

SignIn = Callable[..., Client]
Capture = pytest.CaptureFixture[str]
QUESTION = (
    "hours=4&types=m5.large&regions=us-east-1&regions=us-west-2&home_zone=us-east-1b&slack_hours=6"
    "&interruptible=on&splittable=on&restart_minutes=5&hazard_per_hour=0.01&repeat=daily&done_by=08:00"
    "&timezone=Europe/Berlin"
)
SAVE = "/run/workloads/"


def save(browser: Client, name: str = "Nightly", **more: Any) -> Any:
    return browser.post(SAVE, {"name": name, "fields_text": QUESTION, **more})


def typed(capsys: Capture, *words: str) -> Any:
    capsys.readouterr()
    call_command(*words, "--json")
    return json.loads(capsys.readouterr().out)


def test_a_question_is_kept_listed_opened_and_answered(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("engineer")
    Team.objects.create(organisation=Organisation.default(), name="Data", slug="data")
    page = browser.get(f"/run/?{QUESTION}").content.decode()
    assert "Save this workload" in page
    assert "None yet." in page
    done = save(browser, team="data")
    kept = Workload.objects.get()
    assert (done.status_code, done["Location"]) == (302, f"/run/?workload={kept.pk}")
    assert (kept.name, kept.team.slug, kept.repeat, kept.done_by, kept.timezone) == (  # type: ignore[union-attr]
        "Nightly", "data", "daily", "08:00", "Europe/Berlin",
    )  # fmt: skip
    assert (kept.hazard_per_hour, kept.splittable, kept.restart_minutes) == (0.01, True, 5.0)
    assert kept.owner is not None
    assert kept.owner.email == "engineer@example.test"

    opened = browser.get(done["Location"])
    asked = parse_qs(urlsplit(opened["Location"]).query)
    assert {name: asked[name] for name in ("hours", "types", "regions", "repeat", "workload")} == {
        "hours": ["4"], "types": ["m5.large"], "regions": ["us-east-1", "us-west-2"], "repeat": ["daily"],
        "workload": [str(kept.pk)],
    }  # fmt: skip
    page = browser.get(opened["Location"]).content.decode()
    assert "1 saved workload" in page
    assert "daily, done by 08:00 Europe/Berlin" in page
    assert "Save the changes" in page
    assert "All of the next five turns are cheapest in us-west-2a" in page


def test_page_rest_and_command_tell_the_same_turns(
    sign_in: SignIn, loaded: IngestRun, capsys: Capture
) -> None:
    browser = sign_in("engineer")
    save(browser)
    kept = Workload.objects.get()
    at = "2020-02-10T00:00:00Z"
    by_verb = typed(capsys, "advise_launch", "--workload", "nightly", "--at", at)
    assert typed(capsys, "advise_launch", "--workload", str(kept.pk), "--at", at) == by_verb
    assert browser.get(f"/api/v1/workloads/{kept.pk}/advice?at={at}").json() == by_verb
    turns = by_verb["occurrences"]
    assert [turn["due"] for turn in turns] == [f"2020-02-{day}T07:00:00Z" for day in range(10, 15)]
    assert [turn["earliest"] for turn in turns][:2] == ["2020-02-09T21:00:00Z", "2020-02-10T21:00:00Z"]
    assert {turn["plan"]["zone_name"] for turn in turns} == {"us-west-2a"}
    assert turns[0]["plan"]["start"] == at
    assert turns[1]["sentence"].startswith("Start 10 Feb 21:00 UTC in us-west-2a: $")
    assert "25.0\u202f% less than where it runs today, before moving data." in turns[1]["sentence"]
    page = browser.get(browser.get(f"/run/?workload={kept.pk}")["Location"])
    assert by_verb["schedule"]["sentence"] in page.content.decode()

    listed = typed(capsys, "workloads")["workloads"]
    rest = browser.get("/api/v1/workloads").json()["results"]
    assert listed == rest
    shown = typed(capsys, "workloads", "Nightly", "--at", at)
    assert shown["workload"] == rest[0]
    assert [turn["due"] for turn in shown["occurrences"]] == [turn["due"] for turn in turns]


def test_changes_replace_and_a_name_is_used_once(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("engineer")
    save(browser)
    kept = Workload.objects.get()
    save(browser, "Every night", workload=kept.pk, fields_text=QUESTION.replace("hours=4&", "hours=2&"))
    kept.refresh_from_db()
    assert (kept.name, kept.hours, Workload.objects.count()) == ("Every night", 2.0, 1)
    again = save(browser, "EVERY night")
    assert again.status_code == 422
    assert "This name is in use. Choose another." in again.content.decode()
    assert "us-west-2a" in again.content.decode()
    nameless = save(browser, " ")
    assert nameless.status_code == 422
    assert Workload.objects.count() == 1


def test_a_question_that_cannot_be_kept_says_which_entry(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("engineer")
    refused = save(browser, fields_text=QUESTION.replace("interruptible=on", ""))
    assert refused.status_code == 422
    assert Workload.objects.count() == 0
    broken = save(browser, fields_text="hours=0")
    assert (broken.status_code, Workload.objects.count()) == (422, 0)


@pytest.mark.parametrize("role", ["viewer", "finance"])
def test_a_viewer_opens_but_does_not_save(role: str, sign_in: SignIn, loaded: IngestRun) -> None:
    save(sign_in("engineer"))
    kept = Workload.objects.get()
    browser = sign_in(role)
    page = browser.get(browser.get(f"/run/?workload={kept.pk}")["Location"]).content.decode()
    assert "1 saved workload" in page
    assert "This needs the role engineer or admin." in page
    assert "workload-keep" not in page
    assert f"/run/workloads/{kept.pk}/remove/" not in page
    entries = AuditEntry.objects.count()
    assert save(browser, "Mine").status_code == 403
    assert browser.get(f"/run/workloads/{kept.pk}/remove/").status_code == 403
    assert browser.post(f"/run/workloads/{kept.pk}/remove/").status_code == 403
    assert (Workload.objects.count(), AuditEntry.objects.count()) == (1, entries)


def test_deleting_asks_first(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("engineer")
    save(browser)
    kept = Workload.objects.get()
    assert "Delete Nightly?" in browser.get(f"/run/workloads/{kept.pk}/remove/").content.decode()
    assert Workload.objects.count() == 1
    assert browser.post(f"/run/workloads/{kept.pk}/remove/")["Location"] == "/run/"
    assert Workload.objects.count() == 0
    gone = browser.get(f"/run/?workload={kept.pk}", follow=True)
    assert "There is no such saved workload any more." in gone.content.decode()
    assert browser.post(f"/run/workloads/{kept.pk}/remove/").status_code == 404


def test_another_organisation_s_workload_is_not_there(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("admin")
    save(browser)
    kept = Workload.objects.get()
    other = Organisation.objects.create(name="Other", slug="other")
    Workload.objects.filter(pk=kept.pk).update(organisation=other)
    assert "None yet." in browser.get("/run/").content.decode()
    assert browser.post(f"/run/workloads/{kept.pk}/remove/").status_code == 404
    assert save(browser, workload=kept.pk).status_code == 404
    assert Workload.objects.filter(organisation=other).count() == 1


def test_wrong_words_on_the_command_line_are_usage(loaded: IngestRun, capsys: Capture) -> None:
    for words, field in (
        (["--workload", "nowhere"], "workload"),
        (["--workload", "1", "--hours", "8"], "hours"),
        (["--hours", "8"], "regions"),
        (["--workload", "1", "--organisation", "nowhere"], "organisation"),
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            call_command("advise_launch", *words, "--json")
        assert ended.value.code == 2
        assert json.loads(capsys.readouterr().out)["error"]["field"] == field


def test_a_plan_in_pieces_shows_when_each_runs() -> None:
    from datetime import UTC

    from apps.dashboard.presenters.turns import piece_rows

    pieces = [
        {"start": "2020-02-10T19:00:00Z", "end": "2020-02-10T23:00:00Z"},
        {"start": "2020-02-11T22:00:00Z", "end": "2020-02-12T02:00:00Z"},
    ]
    assert piece_rows({"pieces": pieces}, UTC) == [
        "Mon 10 Feb 19:00–23:00", "Tue 11 Feb 22:00 – Wed 12 Feb 02:00",
    ]  # fmt: skip
    assert piece_rows({"pieces": []}, UTC) == []


def test_pieces_and_their_rival_have_words_on_the_page(
    sign_in: SignIn, loaded: IngestRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.dashboard.views import run

    answer = run.advice_document

    def in_pieces(*args: Any, **kwargs: Any) -> dict[str, Any]:
        document = answer(*args, **kwargs)
        document["plans"][0]["pieces"] = [
            {"start": "2020-02-10T01:00:00Z", "end": "2020-02-10T03:00:00Z", "zone": "x"},
            {"start": "2020-02-10T05:00:00Z", "end": "2020-02-10T07:00:00Z", "zone": "x"},
        ]
        strategies = document["backtest"]["strategies"]
        strategies["one_piece"] = strategies["home_now"]
        return document

    monkeypatch.setattr(run, "advice_document", in_pieces)
    page = sign_in("viewer").get(f"/run/?{QUESTION}").content.decode()
    assert "<summary>2 pieces</summary><ol><li>Mon 10 Feb 01:00–03:00</li>" in page
    assert "The same in one piece" in page


def test_days_are_written_as_people_do() -> None:
    from apps.dashboard.saved import repeats

    def told(days: str) -> str:
        return repeats({"repeat": days, "done_by": "08:00", "timezone": "UTC"})

    assert told("sat,sun") == "Sat, Sun, done by 08:00 UTC"
    assert told("monday-fri") == "Mon–Fri, done by 08:00 UTC"
    assert told("mon-sun") == "daily, done by 08:00 UTC"
    assert repeats({"repeat": ""}) == ""
