"""A local EC2 that fails on request, with short waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apps.launches.services import executors
from faults.cloud import Cloud, cloud


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Cloud]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    with cloud() as running:
        settings.AWS_ENDPOINT_URL = running.url
        settings.LAUNCH_CALL_SECONDS = 1
        executors._aws.cache_clear()
        yield running
