"""What a refusal quotes of a body can be sent: half a surrogate pair is no text of UTF-8."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("body", ['{"rule": "\\ud800"}', '{"\\ud800": 1}'], ids=["value", "name"])
def test_half_a_pair_is_refused_and_quoted(sign_in: Callable[..., Client], body: str) -> None:
    answer = sign_in("admin").post("/api/v1/waste/settings", body, content_type="application/json")
    assert answer.status_code == 400
    assert "?" in answer.content.decode()
