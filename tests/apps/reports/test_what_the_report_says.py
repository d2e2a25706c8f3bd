"""The report of a week: figures that add up and equal those of the pages, equal ranges, two languages."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from email import message_from_bytes, policy
from html.parser import HTMLParser
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import Membership, Organisation, Team, User
from apps.billing.services.budgets import budget_save
from apps.reports import sections
from apps.reports.mail.files import csv_of
from apps.reports.mail.letter import Letter
from apps.reports.mail.message import Outgoing, message_bytes
from apps.reports.mail.paper import pdf_of
from apps.reports.models import Delivery, Report, Subscription
from apps.reports.sections import Block, Cell, Column, Question, Section
from apps.reports.selectors.week import week_spend
from apps.reports.services.composing import Composed, compose
from apps.reports.services.reports import last_week, report_due_make, report_make, reports_due
from finops.engine.weekly import week_named
from tests.apps.reports.conftest import TEST
from tests.support.bill_lake import put_bill
from tests.support.steady_bills import MAY, NOW, lines

W20 = week_named("2026-W20")
Subscribe = Callable[..., Subscription]


def texts(html: str) -> list[str]:
    """The words of a page as a reader sees them, without scripts and styles."""

    class Reader(HTMLParser):
        found: list[str] = []
        skipping = False

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            self.skipping = tag in ("style", "script", "title")

        def handle_endtag(self, tag: str) -> None:
            self.skipping = False

        def handle_data(self, data: str) -> None:
            if data.strip() and not self.skipping:
                self.found.append(" ".join(data.split()))

    reader = Reader()
    reader.found = []
    reader.feed(html)
    return reader.found


def unwrapped(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def table(text: str, title: str) -> list[tuple[str, Decimal, Decimal]]:
    """Rows of name and two numbers of a section of the plain text."""
    part = text.split(f"{title}\n", 1)[1].split("\n\n", 1)[0]
    found = re.findall(r"^(\S.*?)\s{2,}([\u2212\d.,]+)\s+([+\u2212\d.,]+)$", part, re.M)
    plain = [
        (name, *(Decimal(v.replace(",", "").replace("\u2212", "-")) for v in pair)) for name, *pair in found
    ]
    return plain  # type: ignore[return-value]


@pytest.fixture
def report(bills: None, subscribe: Subscribe) -> Composed:
    return compose(subscribe(attach_csv=True), week=W20, now=NOW)


def test_the_first_sentences_have_the_numbers(report: Composed) -> None:
    assert report.letter.title == (
        "You spent $1,150.00, 9.5\u202f% more than the week before. Glue is all of the rise."
    )
    assert report.letter.subject == ("Week 20: $1,150, 9.5\u202f% more than the week before; Glue +$100")
    assert report.letter.lead == "May stands at $3,130 and is heading for $4,780."
    assert "week 20, 11–17 May 2026" in report.letter.edition
    assert next((f.label, f.value, f.note) for f in report.letter.figures) == (
        "This week", "$1,150.00", "week 19: $1,050.00",
    )  # fmt: skip
    assert report.letter.preheader == "No recommendation is open. The figures are not final."


def test_mail_page_rest_and_command_have_one_number(report: Composed, organisation: Organisation) -> None:
    client = Client()
    client.force_login(User.objects.get(email="ada@example.test"))
    link = next(cell.link for _n, block in report.letter.sections for cell in block.total if cell.link)
    page = client.get(link.removeprefix("http://127.0.0.1:8000")).content.decode()
    assert "$1,150.00" in page
    assert "+$100.00" in page
    answer = client.get("/api/v1/spend?from=2026-05-11&to=2026-05-18&by=service&basis=amortised").json()
    assert answer["total"] == report.document["currencies"][0]["cost"] == "1150"


def test_what_moved_adds_up_in_both_columns(report: Composed) -> None:
    rows = table(report.text, "What moved")
    assert rows == [
        ("Glue", Decimal("450.00"), Decimal("100.00")),
        ("EC2", Decimal("700.00"), Decimal("0.00")),
        ("All", Decimal("1150.00"), Decimal("100.00")),
    ]
    for column in (1, 2):
        assert sum(row[column] for row in rows[:-1]) == rows[-1][column]


def test_rounded_parts_add_up_to_the_total_and_the_file_is_exact(
    empty_lake: Any, organisation: Organisation, subscribe: Subscribe
) -> None:
    costs = {"a": "1.005", "b": "1.005", "c": "1.005", **{f"t{i}": "0.004" for i in range(40)}}
    rows = [
        {"billed_cost": cost, "service_name": name, "x_day": date(2026, 5, 12)}
        for name, cost in costs.items()
    ]
    put_bill(rows, period=MAY)
    made = compose(subscribe(attach_csv=True), week=W20, now=datetime(2026, 6, 8, tzinfo=UTC))
    shown = table(made.text, "What moved")
    assert shown[-1][1] == Decimal("3.18")  # 3.015 + 0.160 = 3.175, half up
    assert sum(row[1] for row in shown[:-1]) == shown[-1][1]
    assert made.document["currencies"][0]["cost"] == "3.175"
    read = list(csv.DictReader(io.StringIO(made.files[0].body.decode())))
    assert sum(Decimal(row["cost"]) for row in read) == Decimal("3.175")
    assert len(read) == 43


def test_a_week_that_is_not_delivered_whole_is_compared_with_the_same_weekdays(
    bills: None, subscribe: Subscribe
) -> None:
    made = compose(subscribe(), week=week_named("2026-W21"), now=NOW)  # bills end on Wednesday the 20th
    sides = made.document["compared"]
    assert (sides["days"], sides["before_days"], sides["whole_week"]) == (3, 3, False)
    assert (sides["before_from"], sides["before_to"]) == ("2026-05-11", "2026-05-14")
    assert made.letter.title == "18–20 May 2026 cost $450.00, as much as the same days before."
    assert made.letter.subject == "Week 21, 3 of 7 days: $450"
    told = "Delivered are 18–20 May 2026; they are compared with the same days of the week before."
    assert told in unwrapped(made.text)


def test_the_first_week_has_nothing_to_compare_with_and_no_percentage(
    empty_lake: Any, organisation: Organisation, subscribe: Subscribe
) -> None:
    put_bill([{"billed_cost": "12.00", "service_name": "New", "x_day": date(2026, 5, 12)}], period=MAY)
    made = compose(subscribe(), week=W20, now=datetime(2026, 6, 8, tzinfo=UTC))
    one = made.document["currencies"][0]
    assert (one["delta"], one["delta_pct"], one["label"]) == ("12", None, "new")
    assert made.letter.title == "You spent $12.00; there is nothing to compare it with."
    assert "NaN" not in json.dumps(made.document)
    assert "Infinity" not in json.dumps(made.document)


def test_without_bills_it_says_so(empty_lake: Any, subscribe: Subscribe) -> None:
    made = compose(subscribe(), week=W20, now=NOW)
    assert made.letter.title == "Nothing of week 20, 11–17 May 2026 is delivered yet."
    assert made.letter.chart is None
    assert made.document["compared"] is None


def test_two_currencies_are_never_added(
    empty_lake: Any, organisation: Organisation, subscribe: Subscribe
) -> None:
    day = date(2026, 5, 12)
    rows = [
        {"billed_cost": "100.00", "service_name": "A", "x_day": day},
        {"billed_cost": "720.00", "service_name": "B", "x_day": day, "billing_currency": "CNY"},
    ]
    put_bill(rows, period=MAY)
    now = datetime(2026, 6, 8, tzinfo=UTC)
    made = compose(subscribe(), week=W20, now=now)
    assert made.letter.title == "You spent CNY 720.00 and $100.00 in week 20, not added up."
    assert "820" not in made.text
    refused = compose(subscribe(name="USD", currency="USD"), week=W20, now=now)
    assert [one["currency"] for one in refused.document["currencies"]] == ["CNY", "USD"]
    assert "Not final" in refused.text, "why it could not be converted"


def test_a_month_that_is_within_its_budget_says_by_how_much(
    bills: None, organisation: Organisation, subscribe: Subscribe
) -> None:
    budget_save(
        organisation=organisation, actor=TEST, thresholds=[],
        fields={"name": "All", "amount": Decimal(5000), "currency": "USD", "valid_from": MAY},
    )  # fmt: skip
    made = compose(subscribe(), week=W20, now=NOW)
    assert made.letter.lead == (
        "May stands at $3,130 and is heading for $4,780: $220 under the budget of $5,000."
    )
    client = Client()
    client.force_login(User.objects.get(email="ada@example.test"))
    told = client.get("/api/v1/budgets", {"at": NOW.isoformat().replace("+00:00", "Z")}).json()
    assert told["budgets"][0]["spent"] == made.document["sections"]["budgets"]["budgets"][0]["spent"]
    assert told["budgets"][0]["forecast"] == made.document["sections"]["budgets"]["budgets"][0]["forecast"]
    engineers = compose(subscribe(name="E", edition="engineering"), week=W20, now=NOW)
    assert "budgets" not in engineers.document["sections"]
    assert "usage" in engineers.document["sections"]


def test_a_report_of_an_account_has_that_accounts_cost(bills: None, subscribe: Subscribe) -> None:
    made = compose(subscribe(account="2"), week=W20, now=NOW)
    assert made.document["currencies"][0]["cost"] == "450"
    assert "account 2" in made.letter.edition
    assert "recommendations are not kept by account" in made.text


def test_another_organisation_sees_nothing_of_these_bills(bills: None, subscribe: Subscribe) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    put_bill(lines(MAY, 20), period=MAY, organisation=other, payer="9")
    spend = week_spend(W20, organisation=Organisation.default(), now=NOW)
    assert spend.main is not None
    assert spend.main.cost == Decimal(1150)


def test_chinese_has_no_english_sentence(
    bills: None, organisation: Organisation, subscribe: Subscribe
) -> None:
    budget_save(
        organisation=organisation, actor=TEST, thresholds=[],
        fields={"name": "预算", "amount": Decimal(5000), "currency": "USD", "valid_from": MAY},
    )  # fmt: skip
    made = compose(subscribe(language="zh-hans"), week=W20, now=NOW)
    assert made.letter.title == "本周花费 $1,150.00，比上一周多 9.5%。上升全部来自 Glue。"
    assert made.letter.subject == "第 20 周：$1,150，比上一周多 9.5%；Glue +$100"
    assert '<html lang="zh-Hans"' in made.html
    prose = re.sub(r"https?://\S+|Europe/Berlin|\baws 1 test\b|Glue|EC2|UTC|Offpeak", "", made.text)
    assert re.findall(r"[A-Za-z]{3,}", prose) == []


def test_words_from_a_bill_are_words(
    empty_lake: Any, organisation: Organisation, subscribe: Subscribe
) -> None:
    evil = '<img src=x onerror=alert(1)>\r\nBcc: x@y.test\u202e=cmd|"'
    rows = [
        {"billed_cost": cost, "service_name": name, "x_day": day}
        for day, cost in ((date(2026, 5, 5), "10"), (date(2026, 5, 12), "50"))
        for name in (evil, "=1+1")
    ]
    rows.append({"billed_cost": "-12.50", "service_name": "-2+3", "x_day": date(2026, 5, 12)})
    put_bill(rows, period=MAY)
    made = compose(subscribe(attach_csv=True), week=W20, now=datetime(2026, 6, 8, tzinfo=UTC))
    assert "<img src=x" not in made.html
    assert "&lt;img src=x" in made.html
    assert "\u202e" not in made.html + made.text + made.letter.subject
    raw = message_bytes(
        Outgoing("a@b.test", "ada@example.test", "o@e.test", NOW, made.letter.subject + evil, "t", "", "en")
    )
    message = message_from_bytes(raw, policy=policy.default)
    assert message["Bcc"] is None
    read = list(csv.reader(io.StringIO(made.files[0].body.decode())))
    services = {row[3] for row in read[1:]}
    assert "'=1+1" in services
    assert "'-2+3" in services
    assert sum(Decimal(row[4]) for row in read[1:]) == Decimal("87.50")
    assert [row[4] for row in read[1:] if row[3] == "'-2+3"] == ["-12.500000000000000000"] or "-12.5" in str(
        read
    )


def test_html_and_text_say_the_same(report: Composed) -> None:
    plain = " ".join(report.text.split())
    for part in texts(report.html):
        if part in ("Offpeak", "Open this report", "Change", "Unsubscribe") or set(part) <= set(
            "\u034f\u200c\xa0 "
        ):
            continue
        for piece in part.split("·"):
            words = re.sub(r"[\u034f\u200c\xa0]+", " ", piece).strip()
            assert words in plain or words in report.letter.preheader or words in report.letter.title, words


def test_the_mail_keeps_to_what_mail_programs_can(report: Composed) -> None:
    assert len(report.html.encode()) + len(report.chart or b"") < 100_000
    assert "<link" not in report.html
    assert "<script" not in report.html
    assert "flex" not in report.html
    assert report.html.count("<style") == 1, "what only dark mode and small screens need"
    assert "prefers-color-scheme: dark" in report.html
    assert 'role="presentation"' in report.html
    assert re.search(
        r'<img src="cid:days@offpeak"[^>]* alt="Cost rose from \$150 to \$164 a day\.', report.html
    )
    assert report.chart is not None
    assert report.chart.startswith(b"\x89PNG")
    assert len(report.chart) < 20_000


def test_attachments_come_by_choice(bills: None, subscribe: Subscribe) -> None:
    assert compose(subscribe(name="none"), week=W20, now=NOW).files == ()
    both = compose(subscribe(name="both", attach_pdf=True, attach_csv=True), week=W20, now=NOW).files
    assert [one.name for one in both] == ["offpeak-2026-W20.csv", "offpeak-2026-W20.pdf"]
    assert both[1].body.startswith(b"%PDF-")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_pdf_needs_nothing_of_the_machine_and_is_the_same_each_time(
    bills: None, subscribe: Subscribe, language: str
) -> None:
    one = subscribe(attach_pdf=True, language=language)
    first, again = (compose(one, week=W20, now=NOW).files[0].body for _ in range(2))
    assert first == again
    assert first.startswith(b"%PDF-")
    assert len(first) < 200_000
    assert (b"STSong-Light" in first) is (language == "zh-hans")


def test_names_are_text_on_paper_whatever_they_hold() -> None:
    story = Block(
        "<b>&", columns=(Column("x"), Column("y", number=True)),
        rows=((Cell("<para>\x00 </font> 团队 −5 €", sub="&amp;<img src='x'>"), Cell("1")),),
        total=(Cell("Σ"), Cell("1")), notes=("a < b",), warn=True,
    )  # fmt: skip
    letter = Letter("s", "", "<i>", "[[1]] <", "", (), None, (("x", story),), ("", ""), (), "", "", "", "en")
    assert pdf_of(letter).startswith(b"%PDF-")


def test_a_section_that_fails_is_left_out_and_said_so(bills: None, subscribe: Subscribe) -> None:
    def broken(question: Question) -> Block | None:
        raise RuntimeError("no")

    sections.register(Section("zz", 55, broken))
    sections.register(
        Section("zy", 56, lambda question: Block("Ours", document={"week": question.week.label}))
    )
    try:
        made = compose(subscribe(), week=W20, now=NOW)
    finally:
        del sections._SECTIONS["zz"], sections._SECTIONS["zy"]
    assert made.document["sections_failed"] == ["zz"]
    assert made.document["sections"]["zy"] == {"week": "2026-W20"}
    assert "A part of this report could not be made (zz)." in unwrapped(made.text)


def test_a_due_report_is_written_once_with_a_mail_for_each(bills: None, subscribe: Subscribe) -> None:
    row = subscribe()
    assert row.next_due_at == datetime(2026, 5, 25, 6, tzinfo=UTC)  # Monday 08:00 in Berlin
    assert reports_due(now=row.next_due_at - timedelta(seconds=1)) == []
    now = row.next_due_at + timedelta(minutes=3)
    assert reports_due(now=now) == [row.pk]
    report = report_due_make(subscription_id=row.pk, now=now)
    assert report is not None
    assert (report.week, report.missed) == ("2026-W21", [])
    assert report_due_make(subscription_id=row.pk, now=now) is None
    row.refresh_from_db()
    assert row.next_due_at == datetime(2026, 6, 1, 6, tzinfo=UTC)
    assert sorted(Delivery.objects.values_list("email", flat=True)) == ["ada@example.test", "bo@example.test"]
    assert Report.objects.count() == 1


def test_after_an_outage_one_report_is_written_and_the_missed_weeks_are_named(
    bills: None, subscribe: Subscribe
) -> None:
    row = subscribe()
    report = report_due_make(subscription_id=row.pk, now=datetime(2026, 6, 10, tzinfo=UTC))
    assert report is not None
    assert (report.week, report.missed) == ("2026-W23", ["2026-W21", "2026-W22"])
    assert "No report was written about 2026-W21, 2026-W22: nothing ran when they were due." in unwrapped(
        report.text
    )


def test_a_report_that_cannot_be_written_is_tried_again_and_says_why(
    bills: None, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = subscribe()
    monkeypatch.setattr(
        "apps.reports.services.composing.week_spend",
        lambda *a, **k: (_ for _ in ()).throw(OSError("lake away")),
    )
    now = row.next_due_at
    assert report_due_make(subscription_id=row.pk, now=now) is None
    row.refresh_from_db()
    assert row.error == "OSError: lake away"
    assert row.next_due_at == now
    assert reports_due(now=now + timedelta(minutes=4)) == []
    assert reports_due(now=now + timedelta(minutes=5)) == [row.pk]


def test_a_past_report_stays_as_it_was_when_the_bill_changes(bills: None, subscribe: Subscribe) -> None:
    row = subscribe()
    report, new = report_make(subscription=row, week=W20, now=NOW)
    assert new
    before = report.html
    put_bill(lines(MAY, 20), period=MAY, payer="2")  # twice the cost
    again, new = report_make(subscription=row, week=W20, now=NOW + timedelta(days=1))
    assert (again.pk, new) == (report.pk, False)
    report.refresh_from_db()
    assert report.html == before


def test_the_verb_sends_once_and_a_dry_run_keeps_nothing(
    bills: None, subscribe: Subscribe, capsys: pytest.CaptureFixture[str], mailoutbox: list[Any]
) -> None:
    row = subscribe()
    args = ("send_report", "--subscription", str(row.pk), "--week", "2026-W20", "--json")
    call_command(*args, "--dry-run")
    dry = json.loads(capsys.readouterr().out)
    assert (dry["dry_run"], dry["report"], dry["recipients"]) == (
        True, None, ["ada@example.test", "bo@example.test"],
    )  # fmt: skip
    assert Report.objects.count() == 0
    assert mailoutbox == []
    call_command(*args)
    first = json.loads(capsys.readouterr().out)
    assert (first["new"], first["sent"], len(mailoutbox)) == (True, 2, 2)
    assert {one["state"] for one in first["deliveries"]} == {"sent"}
    call_command(*args)
    second = json.loads(capsys.readouterr().out)
    assert (second["report"], second["new"], second["sent"], len(mailoutbox)) == (
        first["report"],
        False,
        0,
        2,
    )
    message = mailoutbox[0].message()
    assert message["Subject"] == first["subject"]
    kinds = [part.get_content_type() for part in message.walk()]
    assert kinds == [
        "multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("week", "field"),
    [("2026-W60", "week"), ("2099-W01", "week"), ("x", "week")],
    ids=["none", "ahead", "text"],
)
def test_the_verb_refuses_a_week_that_is_none(
    bills: None, subscribe: Subscribe, capsys: pytest.CaptureFixture[str], week: str, field: str
) -> None:
    row = subscribe()
    with pytest.raises(SystemExit) as stopped:
        call_command("send_report", "--subscription", str(row.pk), "--week", week, "--json")
    assert stopped.value.code == 2
    assert json.loads(capsys.readouterr().out)["error"]["field"] == field
    assert Report.objects.count() == 0


def test_the_last_week_is_the_one_that_ended_in_its_time_zone(subscribe: Subscribe) -> None:
    sunday_evening = datetime(2026, 5, 24, 23, tzinfo=UTC)
    assert last_week(subscribe(time_zone="Asia/Shanghai"), sunday_evening).label == "2026-W21"
    assert last_week(subscribe(name="u", time_zone="UTC"), sunday_evening).label == "2026-W20"


def test_csv_of_a_team_is_of_that_team(bills: None, organisation: Organisation, subscribe: Subscribe) -> None:
    team = Team.objects.create(organisation=organisation, name="Web", slug="web")
    spend = week_spend(W20, organisation=organisation, now=NOW, where=(("team", team.slug),))
    assert csv_of(spend, "amortised").decode().splitlines() == [
        "week,from,to (excluded),service,cost,cost_before,change,currency,basis"
    ]
    assert Membership.objects.count() == 1
