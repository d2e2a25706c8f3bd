"""Why rows and questions were refused, on Chinese pages in Chinese; stored and exported in English."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

from django.test import Client

from apps.ingest.models import IngestRun

SignIn = Callable[..., Client]
CHINESE = {"Accept-Language": "zh-hans"}


def test_a_rejected_row_and_a_failed_run(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("viewer", headers=CHINESE)
    page = browser.get(f"/data/runs/{loaded.pk}/").content.decode()
    assert "价格无效：&#x27;=1+1&#x27; 不是十进制数" in page
    assert "invalid price" not in page
    exported = browser.get(f"/data/runs/{loaded.pk}/?format=csv")
    rows = list(csv.reader(io.StringIO(b"".join(exported.streaming_content).decode())))  # type: ignore[attr-defined]
    assert rows[1][3] == "invalid price: '=1+1' is not a decimal number"
    IngestRun.objects.filter(pk=loaded.pk).update(error="no price data: binary content")
    page = browser.get(f"/data/runs/{loaded.pk}/").content.decode()
    assert "不是价格数据：二进制内容" in page
    english = sign_in("engineer").get(f"/data/runs/{loaded.pk}/").content.decode()
    assert "no price data: binary content" in english


def test_a_question_that_is_refused(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("engineer", headers=CHINESE)
    asked = "/run/?hours=4&types=m5.large&regions=us-east-1&splittable=on"
    page = browser.get(asked)
    assert page.status_code == 422
    assert "不可中断的工作不能分段运行。" in page.content.decode()
    body = {"hours": 0, "types": ["m5.large"], "regions": ["us-east-1"], "product": "Linux/UNIX"}
    refused = browser.post("/api/v1/advice/launch", json.dumps(body), content_type="application/json")
    assert refused.status_code == 400
    assert refused.json()["error"]["fields"][0]["message"] == "工作小时数必须大于 0 且不超过 2208。"
