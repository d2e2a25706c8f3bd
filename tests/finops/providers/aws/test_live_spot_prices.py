"""The real boto3 against recorded pages: paging, throttling, credentials that fail, zones, faulty rows."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from tenacity import wait_none

from finops.providers.aws import session as aws_session
from finops.providers.aws.client import SpotPriceQuestion
from finops.providers.aws.errors import CredentialsError, DeniedError, ExpiredCredentialsError
from finops.providers.aws.session import Access
from finops.providers.aws.spot import LiveRegion, open_region, question_start
from finops.providers.base import PermanentError, SpotBatch, TransientError
from finops.redact import RedactingFormatter
from tests.support.ec2_server import RecordedAws, recorded_aws

REGION = "us-east-1"
START = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
END = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
QUESTION = SpotPriceQuestion(REGION, START, END, ("p3.2xlarge", "c5.xlarge"), ("Linux/UNIX",))


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordedAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    # botocore's own waiting between attempts is not what is tested here
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    with recorded_aws() as server:
        server.answer(
            "DescribeSpotPriceHistory", "spot_page_1.xml", "spot_page_2_empty.xml", "spot_page_3.xml"
        )
        yield server


def opened(aws: RecordedAws, **access: str) -> LiveRegion:
    return open_region(Access(endpoint_url=aws.url, **access), QUESTION, back_off=wait_none())


def live(aws: RecordedAws, **access: str) -> list[SpotBatch]:
    return list(opened(aws, **access).batches())


def rows(pages: list[SpotBatch]) -> list[tuple[str, str, str, Decimal]]:
    return [
        (row["instance_type"], row["zone_key"], row["at"].isoformat(), row["price"])
        for page in pages
        for row in page.rows.to_pylist()
    ]


def test_all_pages_are_read_past_an_empty_one_in_the_middle(aws: RecordedAws) -> None:
    region = opened(aws)
    pages = list(region.batches())
    assert [page.read for page in pages] == [3, 0, 3]
    assert rows(pages) == [
        ("p3.2xlarge", "use1-az4", "2026-03-02T11:40:05+00:00", Decimal("0.9180000000")),
        ("p3.2xlarge", "use1-az6", "2026-03-02T10:15:00+00:00", Decimal("0.9312000000")),
        ("c5.xlarge", "use1-az4", "2026-03-02T09:00:31+00:00", Decimal("0.0710000000")),
        ("p3.2xlarge", "use1-az4", "2026-03-02T03:12:44+00:00", Decimal("0.9224000000")),
        ("p3.2xlarge", "use1-az6", "2026-03-01T22:01:09+00:00", Decimal("0.9250000000")),
        # the row in force at the start of the question
        ("c5.xlarge", "use1-az4", "2026-02-27T18:30:00+00:00", Decimal("0.0699000000")),
    ]
    assert region.account == "111122223333"
    assert region.zone_ids == {
        "us-east-1a": "use1-az4",
        "us-east-1b": "use1-az6",
        "us-east-1-bos-1a": "use1-bos1-az1",
    }


def test_the_question_names_types_products_range_and_page(aws: RecordedAws) -> None:
    live(aws)
    asked = aws.asked("DescribeSpotPriceHistory")
    assert [request.get("NextToken") for request in asked] == [None, "page-2", "page-3"]
    assert [asked[0][key] for key in ("InstanceType.1", "InstanceType.2", "ProductDescription.1")] == [
        "p3.2xlarge",
        "c5.xlarge",
        "Linux/UNIX",
    ]
    assert (asked[0]["StartTime"], asked[0]["EndTime"]) == ("2026-03-01T22:00:00Z", "2026-03-02T12:00:00Z")
    assert aws.asked("DescribeAvailabilityZones")[0]["AllAvailabilityZones"] == "true"


def test_throttling_is_waited_out_and_no_page_is_lost_or_read_twice(aws: RecordedAws) -> None:
    aws.answer(
        "DescribeSpotPriceHistory",
        "spot_page_1.xml",
        *["faulty_throttled.xml"] * aws_session.ATTEMPTS,
        "faulty_unavailable.xml",
        "spot_page_2_empty.xml",
        "spot_page_3.xml",
    )
    assert len(rows(live(aws))) == 6
    assert len(aws.asked("DescribeSpotPriceHistory")) == 3 + aws_session.ATTEMPTS + 1


def test_throttling_without_end_is_an_error_that_may_pass(aws: RecordedAws) -> None:
    aws.answer("DescribeSpotPriceHistory", "faulty_throttled.xml")
    with pytest.raises(
        TransientError, match=r"limits the rate of calls while reading Spot prices of us-east-1, page 1"
    ):
        live(aws)


def test_a_token_that_expires_between_pages_brings_nothing_and_says_so(aws: RecordedAws) -> None:
    aws.answer("DescribeSpotPriceHistory", "spot_page_1.xml", "faulty_expired.xml")
    with pytest.raises(
        ExpiredCredentialsError, match=r"expired while reading Spot prices of us-east-1, page 2\. Renew"
    ):
        live(aws)
    assert len(aws.asked("DescribeSpotPriceHistory")) == 2


@pytest.mark.parametrize(
    ("action", "document", "kind", "words"),
    [
        (
            "GetCallerIdentity",
            "faulty_sts_wrong_credentials.xml",
            CredentialsError,
            "does not accept the credentials",
        ),
        ("GetCallerIdentity", "faulty_sts_expired.xml", ExpiredCredentialsError, "ExpiredToken"),
        ("DescribeSpotPriceHistory", "faulty_wrong_credentials.xml", CredentialsError, "AuthFailure"),
        ("DescribeSpotPriceHistory", "faulty_denied.xml", DeniedError, "check_permissions --print-policy"),
        ("DescribeAvailabilityZones", "faulty_denied.xml", DeniedError, "reading the zones of us-east-1"),
    ],
)
def test_refusals_are_permanent_and_say_what_to_do(
    aws: RecordedAws, action: str, document: str, kind: type[PermanentError], words: str
) -> None:
    aws.answer(action, document)
    with pytest.raises(kind, match=words):
        live(aws)
    assert len(aws.asked(action)) == 1


def test_no_credentials_at_all_is_a_clear_sentence(
    aws: RecordedAws, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, f"{tmp_path}/none")
    with pytest.raises(CredentialsError, match="No usable AWS credentials"):
        live(aws)


def test_an_answer_that_is_cut_short_may_pass(aws: RecordedAws) -> None:
    aws.answer("DescribeSpotPriceHistory", "faulty_cut_short.xml")
    with pytest.raises(TransientError, match="cut short while reading Spot prices"):
        live(aws)


def test_rows_that_are_no_prices_are_rejected_with_their_place(aws: RecordedAws) -> None:
    aws.answer("DescribeSpotPriceHistory", "faulty_spot_page.xml")
    (page,) = live(aws)
    assert [(r.row, r.field) for r in page.rejections] == [
        (1, "SpotPrice"),
        (3, "ProductDescription"),
        (4, "SpotPrice"),
    ]
    assert page.rejections[0].reason == "invalid price: 0.000000 is not above zero"
    assert page.rows.column("price").to_pylist() == [Decimal("0.9312000000")]
    assert page.read == 4


def test_a_role_is_taken_with_its_external_id_and_its_secrets_stay_out_of_errors(aws: RecordedAws) -> None:
    aws.answer("AssumeRole", "assume_role.xml")
    role = "arn:aws:iam::111122223333:role/offpeak"
    assert len(rows(live(aws, role_arn=role, external_id="made-up-external"))) == 6
    asked = aws.asked("AssumeRole")[0]
    assert (asked["RoleArn"], asked["ExternalId"]) == (role, "made-up-external")
    assert {r["_token"] for r in aws.asked("DescribeSpotPriceHistory")} == {"made-up-canary-token"}
    aws.answer("DescribeSpotPriceHistory", "faulty_denied.xml")
    with pytest.raises(DeniedError) as caught:
        live(aws, role_arn=role)
    assert "canary" not in str(caught.value)
    assert "ExternalId" not in aws.asked("AssumeRole")[1]


def test_a_role_that_is_refused_is_named(aws: RecordedAws) -> None:
    aws.answer("AssumeRole", "faulty_sts_denied.xml")
    with pytest.raises(DeniedError, match="while taking the role arn:aws:iam::111122223333:role/offpeak"):
        live(aws, role_arn="arn:aws:iam::111122223333:role/offpeak")


def test_a_page_token_that_comes_again_ends_the_collection(aws: RecordedAws) -> None:
    aws.answer("DescribeSpotPriceHistory", "spot_page_1.xml")
    with pytest.raises(PermanentError, match="repeats a page token"):
        live(aws)


def test_the_start_overlaps_what_is_known_and_never_reaches_past_ninety_days() -> None:
    assert question_start(known_to=None, end=END) == END - timedelta(days=90)
    assert question_start(known_to=END - timedelta(hours=1), end=END) == END - timedelta(hours=1, minutes=15)
    assert question_start(known_to=END - timedelta(days=200), end=END) == END - timedelta(days=90)
    assert question_start(known_to=END + timedelta(hours=1), end=END) == END - timedelta(minutes=15)


def test_debug_logs_of_botocore_hold_no_credential(aws: RecordedAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up-canary-environment")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "made-up-canary-session")
    aws.answer("AssumeRole", "assume_role.xml")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(RedactingFormatter("%(message)s"))
    loggers = [logging.getLogger(name) for name in ("botocore", "boto3", "urllib3")]
    for logger in loggers:
        monkeypatch.setattr(logger, "level", logging.DEBUG)
        logger.addHandler(handler)
    try:
        logging.getLogger("botocore").manager._clear_cache()  # type: ignore[attr-defined]
        live(aws, role_arn="arn:aws:iam::111122223333:role/offpeak", external_id="made-up")
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
    logged = stream.getvalue()
    assert "DescribeSpotPriceHistory" in logged
    assert "canary" not in logged
