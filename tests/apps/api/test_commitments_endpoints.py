"""Own commitments and demand by REST: the same documents as by command, their file by upload."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.billing.models import OwnedCommitment
from apps.ingest.models import IngestRun, RejectedRow
from tests.finops.providers.aws.test_own_commitments import reservation
from tests.support.bill_lake import put_bill
from tests.support.lake import fresh_lake
from tests.support.own_commitments import RI, fee, line, reserved_use

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]
AT = "2018-12-01T00:00:00Z"


@pytest.fixture(autouse=True)
def _lake(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    with fresh_lake(settings, tmp_path / "lake"):
        yield


@pytest.fixture
def bill() -> None:
    put_bill(
        [
            fee("t2.micro", "720", "360", "5.976"),
            *(reserved_use(h, "t2.micro", "1", "0.5", effective_cost="0.0083") for h in range(48)),
            *(line(h, "m5.large", "1") for h in range(720)),
        ],
        period=date(2018, 11, 1),
    )


def get(client: Client, address: str, **query: Any) -> Any:
    return client.get(f"/api/v1/{address}", query)


def upload(client: Client, document: Any, **more: str) -> Any:
    file = SimpleUploadedFile("ri.json", json.dumps(document).encode())
    return client.post("/api/v1/commitments/import", {"file": file, **more})


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    call_command(*words, "--json")
    return json.loads(capsys.readouterr().out)


def test_the_documents_are_those_of_the_commands(
    with_key: Make, bill: None, capsys: pytest.CaptureFixture[str]
) -> None:
    program = with_key("read:bills")
    answer = get(program, "commitments", at=AT).json()
    assert answer == told(capsys, "commitments", "--at", AT)
    assert answer["commitments"][0]["idle_hours"] == "672"
    assert get(program, "commitments/demand", at=AT).json() == told(capsys, "demand", "--at", AT)
    hours = get(program, "commitments/hours", at=AT, id="r-1").json()
    assert hours == told(capsys, "commitments", "--at", AT, "--hours")["hours"]
    assert (hours["hours"], sum(hours["commitments"][0]["used"])) == (720, 48.0)
    part = get(program, "commitments/hours", at=AT, **{"from": AT.replace("12-01", "11-02"), "to": AT}).json()
    assert part["hours"] == 29 * 24


@pytest.mark.parametrize(
    ("address", "query", "field"),
    [
        ("commitments", {"billing_period": "2018-13"}, "billing_period"),
        ("commitments", {"billing_period": "2017-01"}, "billing_period"),
        ("commitments", {"month": "2018-11"}, "month"),
        ("commitments/hours", {"id": "nobody"}, "id"),
        ("commitments/hours", {"from": AT, "to": AT}, "to"),
        ("commitments/demand", {"lookback_days": 1}, "lookback_days"),
        ("commitments/demand", {"term_hours": 10**6}, "term_hours"),
    ],
)
def test_wrong_questions_name_the_field(
    with_key: Make, bill: None, address: str, query: dict[str, Any], field: str
) -> None:
    answer = get(with_key("read:bills"), address, at=AT, **query)
    assert answer.status_code == 400
    assert field in answer.content.decode()


def test_an_upload_is_kept_with_its_rejected_rows(with_key: Make, organisation: Organisation) -> None:
    program = with_key("read:bills", "write:bills")
    answer = upload(
        program,
        {"ReservedInstances": [reservation(), reservation(State="asleep")]},
        region="us-east-1", account="111122223333", seen_at="2018-09-01T00:00:00Z",
    )  # fmt: skip
    assert answer.status_code == 200
    run = answer.json()
    assert (run["rows_read"], run["stored"], run["rejected"]) == (2, 1, 1)
    assert run["rejections"] == [
        {"file": "ri.json", "row": 2, "field": "state", "reason": "not known: 'asleep'"}
    ]
    row = OwnedCommitment.objects.get()
    assert (row.organisation, row.account, row.region) == (organisation, "111122223333", "us-east-1")
    stored = IngestRun.objects.get()
    assert (stored.kind, stored.organisation) == ("upload", organisation)
    assert AuditEntry.objects.filter(action="commitments.load").count() == 1
    assert get(program, "commitments", at=AT).json()["commitments"][0]["short_id"] == "r-1"


def test_a_file_of_another_kind_is_refused_and_changes_nothing(with_key: Make) -> None:
    answer = upload(with_key("write:bills"), {"ReservedDBInstances": []})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input_refused")
    assert OwnedCommitment.objects.count() == 0
    assert RejectedRow.objects.count() == 1
    for wrong in ({"account": "12"}, {"seen_at": "yesterday"}, {"colour": "red"}):
        assert upload(with_key("write:bills"), {"ReservedInstances": []}, **wrong).status_code == 400


def test_who_may_read_and_load(sign_in: Make, with_key: Make, bill: None) -> None:
    viewer = sign_in("viewer")
    assert get(viewer, "commitments", at=AT).json()["commitments"][0]["id"] == RI
    assert upload(viewer, {"ReservedInstances": []}).status_code == 403
    assert upload(sign_in("finance"), {"ReservedInstances": []}).status_code == 200
    assert get(with_key("read:prices"), "commitments").status_code == 403
    assert upload(with_key("read:bills"), {"ReservedInstances": []}).status_code == 403
    assert Client().get("/api/v1/commitments").status_code == 401


def test_another_organisation_sees_nothing_of_it(organisation: Organisation, sign_in: Make) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    put_bill([fee("t2.micro", "720", "360", "5.976")], period=date(2018, 11, 1), organisation=other)
    assert get(sign_in("viewer"), "commitments", at=AT).json()["commitments"] == []
