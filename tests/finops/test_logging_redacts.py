"""The log of the whole installation: no credential in it, whoever wrote the line."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from finops.logging import LineFormatter, configuration, configure, print_exception

CALLS = [
    "GET https://prices.example.test/v1/skus?key=SECRET1&page=2",
    "Authorization: Bearer SECRET2",
    "https://bucket.example.test/r.csv.gz?X-Amz-Signature=SECRET3&X-Amz-Security-Token=SECRET4",
]


@pytest.fixture(params=["text", "json"])
def stream(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """What a root handler of this form writes, at debug level."""
    configure({"version": 1, "disable_existing_loggers": False, "incremental": True})
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(LineFormatter(request.param))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    out.form = request.param  # type: ignore[attr-defined]
    yield out
    root.removeHandler(handler)
    root.setLevel(level)


def test_failing_calls_of_the_field_case_leave_no_secret_in_the_log(stream: io.StringIO) -> None:
    standard, structured = logging.getLogger("vendor.http.client"), structlog.get_logger("finops.test")
    for call in CALLS:
        try:
            raise ConnectionError(f"failed: {call}")
        except ConnectionError:
            standard.debug("failed %s", call, exc_info=True)
            structured.debug("call_failed", call=call, exc_info=True)
    structured.info("signed", password="SECRET5", headers={"Cookie": "SECRET6"})
    text = stream.getvalue()
    assert [f"SECRET{n}" in text for n in range(1, 7)] == [False] * 6
    assert "page=2" in text
    assert "ConnectionError" in text
    if stream.form == "json":  # type: ignore[attr-defined]
        lines = [json.loads(line) for line in text.splitlines()]
        assert len(lines) == 7
        assert {"event", "level", "logger", "timestamp"} <= set(lines[0])
        assert lines[0]["timestamp"].endswith("Z")


def test_handlers_of_other_programs_get_clean_records_too() -> None:
    configure({"version": 1, "disable_existing_loggers": False, "incremental": True})
    seen: list[str] = []

    class Foreign(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(logging.Formatter("%(message)s").format(record))

    logger = logging.getLogger("gunicorn.access.test")
    logger.propagate = False
    logger.addHandler(Foreign())
    logger.warning("%s", CALLS[0])
    logger.warning("%(request)s", {"request": CALLS[2]})
    assert seen == [
        "GET https://prices.example.test/v1/skus?key=[redacted]&page=2",
        "https://bucket.example.test/r.csv.gz?X-Amz-Signature=[redacted]&X-Amz-Security-Token=[redacted]",
    ]


def test_a_command_that_dies_prints_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError(CALLS[2])
    except ValueError as error:
        print_exception(type(error), error, error.__traceback__)
    printed = capsys.readouterr().err
    assert "SECRET" not in printed
    assert "ValueError" in printed


def test_links_and_keys_of_this_product_are_secrets_too(stream: io.StringIO) -> None:
    log = logging.getLogger("x")
    log.info("GET /accounts/password/reset/key/1-CANARY7-abc/ 302")
    log.info("GET /accounts/oidc/sso/login/callback/?code=CANARY8&state=CANARY9&page=2")
    log.info("token opk_abcdefghij_%s here", "0" * 64)
    text = stream.getvalue()
    assert "CANARY" not in text
    assert "0" * 64 not in text
    assert "page=2" in text
    assert "opk_abcdefghij_[redacted]" in text


@pytest.mark.parametrize(("level", "form"), [("LOUD", "text"), ("INFO", "xml")])
def test_a_wrong_setting_is_named(level: str, form: str) -> None:
    with pytest.raises(ValueError, match="LOG_"):
        configuration(level=level, form=form)
