"""A credential never reaches a log, an exception's text or an output; other parameters stay readable."""

import logging
import time

import pytest

from finops.redact import MASK, RedactingFormatter, processor, redact, redact_value
from finops.text.addresses import masked

CALLS = [
    "GET https://prices.example.test/v1/skus?key=SECRET1&page=2",
    "Authorization: Bearer SECRET2",
    "https://bucket.example.test/r.csv.gz?X-Amz-Signature=SECRET3&X-Amz-Security-Token=SECRET4",
]


def test_the_calls_of_the_field_case_lose_their_secrets_and_keep_the_page() -> None:
    text = redact("\n".join(CALLS))
    assert [f"SECRET{i}" in text for i in (1, 2, 3, 4)] == [False] * 4
    assert "page=2" in text
    assert text.splitlines() == [
        f"GET https://prices.example.test/v1/skus?key={MASK}&page=2",
        f"Authorization: {MASK}",
        f"https://bucket.example.test/r.csv.gz?X-Amz-Signature={MASK}&X-Amz-Security-Token={MASK}",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres://offpeak:CANARY@db:5432/x", f"postgres://offpeak:{MASK}@db:5432/x"),
        ("{'Authorization': 'Bearer CANARY', 'n': '1'}", f"{{'Authorization': '{MASK}', 'n': '1'}}"),
        ('{"password": "CANARY", "rows": 3}', f'{{"password": "{MASK}", "rows": 3}}'),
        (
            "<SessionToken>CANARY</SessionToken><Code>x</Code>",
            f"<SessionToken>{MASK}</SessionToken><Code>x</Code>",
        ),
        ("sent Bearer CANARY", f"sent Bearer {MASK}"),
        ("x-amz-security-token:CANARY\nhost:a", f"x-amz-security-token:{MASK}\nhost:a"),
        ("X-Api-Key: CANARY\nHost: a", f"X-Api-Key: {MASK}\nHost: a"),
        ("used AKIAIOSFODNN7EXAMPLE here", f"used {MASK} here"),
        ("b'access_token=CANARY&n=1'", f"b'access_token={MASK}&n=1'"),
        ("url=https://a.test/?key=CANARY&page=2", f"url=https://a.test/?key={MASK}&page=2"),
        ("('n', 'authorization', 'Bearer CANARY')", f"('n', 'authorization', '{MASK}')"),
        ("https://a.test/?q-signature=CANARY&page=2", f"https://a.test/?q-signature={MASK}&page=2"),
        (
            "?x-oss-signature=CANARY&OSSAccessKeyId=CANARY&n=1",
            f"?x-oss-signature={MASK}&OSSAccessKeyId={MASK}&n=1",
        ),
        (
            "AccountName=a;AccountKey=CANARY==;EndpointSuffix=b",
            f"AccountName=a;AccountKey={MASK};EndpointSuffix=b",
        ),
        ("PRIVATE-TOKEN: CANARY\nHost: a", f"PRIVATE-TOKEN: {MASK}\nHost: a"),
        ("aws_secret_access_key = CANARY\nregion = b", f"aws_secret_access_key = {MASK}\nregion = b"),
        ("if password == other", "if password == other"),
        ("-----BEGIN RSA PRIVATE KEY-----\nCANARY\n-----END RSA PRIVATE KEY-----\nrows=3", f"{MASK}\nrows=3"),
        ("cut: -----BEGIN PRIVATE KEY-----\nCANARY", f"cut: {MASK}"),
        (
            "https://hooks.slack.com/services/T0/B0/CANARY failed",
            f"https://hooks.slack.com/services/{MASK} failed",
        ),
        (
            "https://open.feishu.cn/open-apis/bot/v2/hook/CANARY",
            f"https://open.feishu.cn/open-apis/bot/v2/hook/{MASK}",
        ),
        ("token glpat-CANARYCANARYCANARY1 and ghp_CANARYCANARYCANARY12", f"token {MASK} and {MASK}"),
        ("the monkey=1 and turkey: 2", "the monkey=1 and turkey: 2"),
        ("the key: zone, type, product", "the key: zone, type, product"),
        ("NextToken=abc&MaxResults=1000", "NextToken=abc&MaxResults=1000"),
    ],
)
def test_each_form_of_a_credential(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(
    "canary",
    ["ghp_" + "A1" * 12, "glpat-" + "A1" * 10, "LTAI" + "A1" * 8, "AKID" + "A1" * 15, "xoxb-" + "1A" * 9],
)
def test_an_address_loses_what_is_known_by_its_form(canary: str) -> None:
    assert masked(f'aws_instance.a["{canary}"]') == f'aws_instance.a["{MASK}"]'


@pytest.mark.parametrize("part", ["a.", "xoxb-", "password ", "-----BEGIN PRIVATE KEY-----", "key=", "://a:"])
def test_long_text_takes_no_time(part: str) -> None:
    began = time.process_time()
    redact("https://" + part * (60_000 // len(part)))
    assert time.process_time() - began < 1.5


def test_exceptions_and_arguments_of_log_records_are_covered() -> None:
    formatter = RedactingFormatter("%(message)s")
    try:
        raise ValueError(f"call failed: {CALLS[0]}")
    except ValueError as error:
        record = logging.LogRecord(
            "x", logging.DEBUG, "f", 1, "failed %s", (CALLS[2],), (type(error), error, None)
        )
    text = formatter.format(record)
    assert "SECRET" not in text
    assert "page=2" in text


def test_structured_events_are_masked_by_key_and_by_text() -> None:
    event = processor(
        None, "info", {"event": CALLS[0], "password": "CANARY", "headers": {"Cookie": "CANARY"}, "rows": 3}
    )
    assert event == {
        "event": f"GET https://prices.example.test/v1/skus?key={MASK}&page=2",
        "password": MASK,
        "headers": {"Cookie": MASK},
        "rows": 3,
    }
    assert redact_value([CALLS[1], 7, ValueError(CALLS[1])]) == [
        f"Authorization: {MASK}",
        7,
        f"ValueError: Authorization: {MASK}",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "GET https://p.test/v1?key=SECRET&page=2", "Authorization: Bearer SECRET", '{"token": "SECRET"}',
        "https://u:SECRET@p.test/", "https://p.test/accounts/reset/key/SECRET/",
    ],
)  # fmt: skip
def test_what_was_redacted_before_stays_as_it_is(text: str) -> None:
    once = redact(text)
    assert "SECRET" not in once
    assert redact(once) == once
