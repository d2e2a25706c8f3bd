"""Data → Connect a bill and its tables: what each page says, who may change what, that mistakes are named."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import hcl2
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from tenacity import wait_none

from apps.accounts.models import AuditEntry, Organisation
from apps.billing.models import AccountName, BillReport, Delivery, ExchangeRate, NegotiatedRateRow
from apps.ingest.models import Feed, FeedDelivery
from tests.support.aws_server import FakeAws, Fault, fake_aws

SignIn = Callable[..., Client]
SETUP = (
    "/data/bills/?bucket=acme-bills&prefix=offpeak&payer=111122223333&principal=444455556666&external_id=abc123"
    "&table=cur2&region=us-east-1&make_bucket=on&cost_explorer=on&organizations=on"
)
FEED = {
    "name": "bills", "bucket": "acme-bills", "prefix": "offpeak", "region": "us-east-1",
    "external_id": "abc123", "role_arn": "arn:aws:iam::111122223333:role/offpeak-bills",
    "account": "111122223333",
}  # fmt: skip
RATE = {"provider": "aws", "percent": "12.5", "valid_from": "2026-01-01", "source": "EDP 2026"}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[FakeAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    monkeypatch.setattr("finops.providers.aws.organizations.BACK_OFF", wait_none())
    with fake_aws() as server:
        settings.AWS_ENDPOINT_URL = server.url
        server.answers["ListAccounts"] = [{"Accounts": [{"Id": "111122223333", "Name": "Shop"}]}]
        yield server


@pytest.fixture
def handed_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr("apps.dashboard.views.connect.feed_collect_hand_out", found.append)
    return found


def h1(response: Any) -> str:
    inner = response.content.decode().split("<h1>", 1)[1].split("</h1>", 1)[0]
    return inner.replace('<span class="key">', "").replace("</span>", "").strip()


def states(response: Any) -> list[str]:
    return [step.state for step in response.context["steps"]]


def delivery(organisation: Organisation, **given: Any) -> Delivery:
    report = BillReport.objects.create(
        organisation=organisation, provider="aws", payer="111122223333", name="cur", kind="aws-cur2"
    )
    base = {
        "report": report, "billing_period": date(2026, 11, 1), "kind": "aws-cur2", "state": "current",
        "delivered_at": datetime(2026, 12, 1, tzinfo=UTC), "content_hash": "x", "run_id": 1, "rows_read": 1,
        "stored": 1, "rejected": 0,
        "totals": {"USD": {"billed": "1234.567", "amortised": None, "net": None, "list": None}},
    }  # fmt: skip
    return Delivery.objects.create(**{**base, **given})


def test_nothing_yet_is_five_steps_and_the_first_is_next(sign_in: SignIn) -> None:
    page = sign_in("finance").get("/data/bills/")
    assert h1(page) == "No bill is connected yet: 5 steps to the first reconciled month."
    assert states(page) == ["next", "later", "later", "later", "later"]


def test_the_text_is_made_for_the_bucket_and_can_be_downloaded(sign_in: SignIn) -> None:
    client = sign_in("finance")
    page = client.get(SETUP)
    text = page.content.decode()
    assert page.status_code == 200
    assert "arn:aws:s3:::acme-bills/offpeak/*" in text
    assert 'value="arn:aws:iam::111122223333:role/offpeak-bills"' in text
    file = client.get(SETUP + "&format=cloudformation")
    assert file["Content-Disposition"] == 'attachment; filename="offpeak-bills.json"'
    assert json.loads(file.content)["Resources"]["BillsBucket"]["Properties"]["BucketName"] == "acme-bills"
    assert hcl2.loads(client.get(SETUP + "&format=terraform").content.decode())["resource"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("bucket=Acme", "Not the name of a bucket"),
        ("payer=1", "An AWS account has 12 digits."),
        ("prefix=%22%3E%3Cscript%3E", "no slash at its ends"),
        ("region=eu-central-1", "lies in us-east-1"),
    ],
)
def test_a_wrong_input_is_told_at_its_field_and_gives_no_text(
    sign_in: SignIn, change: str, said: str
) -> None:
    page = sign_in("finance").get(f"{SETUP}&{change}&format=terraform")
    assert page.status_code == 422
    assert said in page.content.decode()
    assert "<script>" not in page.content.decode().replace("<script src", "")
    assert page["Content-Type"].startswith("text/html")


def test_finance_creates_a_feed_that_is_asked_at_once_and_a_viewer_does_not(
    sign_in: SignIn, handed_out: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    assert sign_in("viewer").post("/data/bills/feeds/", FEED).status_code == 403
    client = sign_in("finance")
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post("/data/bills/feeds/", FEED)["Location"] == "/data/bills/"
    feed = Feed.objects.get()
    assert (feed.kind, feed.bucket, feed.credentials, feed.cost_explorer) == (
        "bills", "acme-bills", FEED["role_arn"], False,
    )  # fmt: skip
    assert handed_out == [feed.pk]
    assert AuditEntry.objects.get().action == "feed.create"
    again = client.post("/data/bills/feeds/", FEED)
    assert (again.status_code, "There is a feed of this name already." in again.content.decode()) == (
        422,
        True,
    )
    wrong = client.post("/data/bills/feeds/", {**FEED, "name": "b", "account": "1"})
    assert (wrong.status_code, Feed.objects.count()) == (422, 1)


def test_each_permission_is_told_with_what_stays_dark(
    sign_in: SignIn, aws: FakeAws, organisation: Organisation
) -> None:
    feed = Feed.objects.create(
        organisation=organisation, name="bills", provider="aws", kind="bills", bucket="acme-bills",
        prefix="p", regions=["us-east-1"], interval="06:00",
    )  # fmt: skip
    aws.always["GetObject"] = Fault(403, "AccessDenied", "no")
    page = sign_in("finance").post(f"/data/bills/feeds/{feed.pk}/check/")
    text = page.content.decode()
    assert "bills: 1 permission is missing" in text
    assert "Deliveries are seen and cannot be read" in text
    assert "Not tried: a request costs 0.01 USD." in text
    assert aws.asked("GetCostAndUsage") == []


def test_the_steps_follow_what_is_there(sign_in: SignIn, organisation: Organisation) -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    feed = Feed.objects.create(
        organisation=organisation, name="bills", provider="aws", kind="bills", bucket="acme-bills",
        regions=["us-east-1"], interval="06:00", last_error="no role", state="failing", paid_requests=3,
    )  # fmt: skip
    client = sign_in("finance")
    page = client.get("/data/bills/")
    assert states(page) == ["failed", "done", "later", "later", "later"]
    assert "Cost Explorer was asked 3 times: $0.03." in page.content.decode()
    Feed.objects.filter(pk=feed.pk).update(last_success_at=now, last_error="", state="ok")
    assert states(client.get("/data/bills/")) == ["done", "done", "next", "later", "later"]
    FeedDelivery.objects.create(
        feed=feed, report="p/cur", billing_period=date(2026, 11, 1), manifest="m", etag="1", loaded_etag="1",
        modified=now, state="loaded",
    )  # fmt: skip
    page = client.get("/data/bills/")
    assert states(page) == ["done", "done", "done", "next", "later"]
    assert h1(page) == "2 steps are left to the first reconciled month."


def test_a_month_is_compared_with_its_invoice_to_the_cent(
    sign_in: SignIn, organisation: Organisation
) -> None:
    month = delivery(organisation)
    address = f"/data/bills/deliveries/{month.pk}/invoice/"
    assert sign_in("viewer").post(address, {"amount": "1", "currency": "USD"}).status_code == 403
    client = sign_in("finance")
    assert "No total given" in client.get("/data/bills/").content.decode()
    client.post(address, {"amount": "1234.50", "currency": "USD"})
    month.refresh_from_db()
    assert (month.reconciled, month.difference, month.expected) == (
        False,
        {"USD": "0.07"},
        {"USD": "1234.50"},
    )
    client.post(address, {"amount": "1234.57", "currency": "usd"})
    month.refresh_from_db()
    assert (month.reconciled, month.difference) == (True, {"USD": "0"})
    assert h1(client.get("/data/bills/")) == "1 month of bills is reconciled, 1 loaded."
    actions = [entry.action for entry in AuditEntry.objects.all()]
    assert (actions.count("delivery.reconcile"), actions.count("expected_total.set")) == (2, 2)
    for wrong in ({"amount": "1,234.57", "currency": "USD"}, {"amount": "5", "currency": "EUR"}):
        assert client.post(address, wrong).status_code == 422
    Delivery.objects.filter(pk=month.pk).update(stopgap=True)
    assert client.post(address, {"amount": "1", "currency": "USD"}).status_code == 422
    assert "Daily totals only" in client.get("/data/bills/").content.decode()


def csv_file(text: str) -> dict[str, Any]:
    return {"file": SimpleUploadedFile("table.csv", text.encode())}


def rows_of(response: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_names_come_from_a_file_and_from_aws(
    sign_in: SignIn, aws: FakeAws, organisation: Organisation
) -> None:
    feed = Feed.objects.create(
        organisation=organisation, name="bills", provider="aws", kind="bills", bucket="acme-bills",
        regions=["us-east-1"], interval="06:00",
    )  # fmt: skip
    client = sign_in("finance")
    assert h1(client.get("/data/accounts/")) == "No account has a name yet: pages show numbers."
    wrong = client.post("/data/accounts/load/", csv_file("id,name\n5,x\n"))
    assert (wrong.status_code, "table.csv, row 1, <code>id</code>" in wrong.content.decode()) == (422, True)
    client.post("/data/accounts/load/", csv_file("id,name\n444455556666,=Lab\n"))
    client.post(f"/data/accounts/ask/{feed.pk}/")
    page = client.get("/data/accounts/")
    assert h1(page) == "2 accounts have names."
    assert rows_of(client.get("/data/accounts/?format=csv")) == [
        ["provider", "id", "name"], ["aws", "111122223333", "Shop"], ["aws", "444455556666", "'=Lab"],
    ]  # fmt: skip
    aws.always["ListAccounts"] = Fault(400, "AccessDeniedException", "no")
    denied = client.post(f"/data/accounts/ask/{feed.pk}/")
    assert (denied.status_code, "organizations:ListAccounts" in denied.content.decode()) == (502, True)
    assert AccountName.objects.count() == 2


def test_rates_are_for_finance_alone(sign_in: SignIn) -> None:
    for role in ("viewer", "engineer"):
        assert sign_in(role).get("/data/rates/").status_code == 403
    client = sign_in("finance")
    assert h1(client.get("/data/rates/")) == "No negotiated rate: advice counts with list prices."
    client.post("/data/rates/enter/", RATE)
    row = NegotiatedRateRow.objects.get()
    tied = client.post("/data/rates/enter/", {**RATE, "percent": "9"})
    assert (tied.status_code, f"as row {row.pk} (EDP 2026)" in tied.content.decode()) == (422, True)
    assert h1(client.get("/data/rates/")) == "1 negotiated rate holds today."
    assert rows_of(client.get("/data/rates/?format=csv"))[1][5] == "12.5"
    assert client.post(f"/data/rates/{row.pk}/", {"do": "end", "until": "2026-01-01"}).status_code == 422
    client.post(f"/data/rates/{row.pk}/", {"do": "end", "until": "2026-02-01"})
    row.refresh_from_db()
    assert row.valid_until == date(2026, 2, 1)
    client.post("/data/rates/load/", csv_file("provider,percent,valid_from,source\naws,3,2026-02-01,EDP 2\n"))
    assert NegotiatedRateRow.objects.count() == 2
    client.post(f"/data/rates/{row.pk}/", {"do": "remove"})
    assert NegotiatedRateRow.objects.count() == 1


def test_exchange_rates_are_entered_corrected_loaded_and_taken_out(sign_in: SignIn) -> None:
    given = {"base": "usd", "quote": "CNY", "rate": "7.20", "date": "2026-05-31", "source": "bank"}
    assert sign_in("viewer").post("/data/exchange/enter/", given).status_code == 403
    client = sign_in("finance")
    assert h1(client.get("/data/exchange/")) == "No exchange rate: currencies stay apart."
    client.post("/data/exchange/enter/", {**given, "both_ways": "on"})
    assert client.post("/data/exchange/enter/", {**given, "rate": "7,2"}).status_code == 422
    assert h1(client.get("/data/exchange/")) == "1 exchange rate, of 31 May 2026."
    assert rows_of(client.get("/data/exchange/?format=csv"))[1] == [
        "2026-05-31", "USD", "CNY", "7.2", "yes", "bank",
    ]  # fmt: skip
    loaded = "date,base,quote,rate,source\n2026-06-30,USD,CNY,7.10,bank\n"
    client.post("/data/exchange/load/", csv_file(loaded))
    for row in ExchangeRate.objects.all():
        client.post(f"/data/exchange/{row.pk}/remove/")
    assert not ExchangeRate.objects.exists()


def test_another_organisation_is_neither_seen_nor_touched(sign_in: SignIn, tmp_path: Path) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    feed = Feed.objects.create(
        organisation=other, name="theirs", provider="aws", kind="bills", bucket="their-bills",
        regions=["us-east-1"], interval="06:00",
    )  # fmt: skip
    month = delivery(other)
    client = sign_in("admin")
    text = client.get("/data/bills/").content.decode()
    assert "their-bills" not in text
    assert "111122223333" not in text
    for address in (
        f"/data/bills/feeds/{feed.pk}/ask/",
        f"/data/bills/feeds/{feed.pk}/check/",
        f"/data/bills/deliveries/{month.pk}/invoice/",
        f"/data/accounts/ask/{feed.pk}/",
    ):
        assert client.post(address, {"amount": "1", "currency": "USD"}).status_code == 404


def test_the_demos_bill_is_no_step_on_the_way(sign_in: SignIn, organisation: Organisation) -> None:
    demo = delivery(organisation, kind="demo")
    page = sign_in("finance").get("/data/bills/")
    assert h1(page) == "No bill is connected yet: 5 steps to the first reconciled month."
    assert states(page) == ["next", "later", "later", "later", "later"]
    assert "1,234.57" not in page.content.decode()
    assert "The demo's bill is loaded: it is not counted here." in page.content.decode()
    Delivery.objects.filter(pk=demo.pk).update(kind="aws-cur2")
    assert states(sign_in("admin").get("/data/bills/"))[2] == "done"


@pytest.mark.parametrize(
    "address",
    [
        "/data/bills/",
        "/data/accounts/",
        "/data/rates/",
        "/data/exchange/",
        "/spend/budgets/",
        "/spend/anomalies/",
    ],
)
def test_pages_of_bills_tell_the_age_of_the_bill(
    sign_in: SignIn, organisation: Organisation, address: str
) -> None:
    client = sign_in("finance")
    assert "No bill yet" in client.get(address).content.decode()
    delivery(organisation, last_day=date(2026, 11, 18))
    text = client.get(address).content.decode()
    assert "Bill to 18 Nov" in text
    assert "Prices" not in text.split("<main", 1)[0].split('class="age', 1)[1][:200]
