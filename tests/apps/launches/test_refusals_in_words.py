"""A refusal is told in words first, its code behind them; in English and in Chinese."""

from __future__ import annotations

import pytest
from django.utils import translation

from apps.launches.wording import event_text, why_text
from apps.launches.wording_refusals import CODES, refusal_text, refusal_words
from finops.frames.launch_errors import ANY, launch_errors


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("InsufficientInstanceCapacity", "no capacity"),
        ("MaxSpotInstanceCountExceeded", "the account's limit of Spot machines is reached"),
        ("VcpuLimitExceeded", "the account's limit is reached"),
        ("SpotMaxPriceTooLow", "Spot costs more than the cap"),
        ("UnauthorizedOperation", "not permitted"),
        ("InvalidAMIID.NotFound", "something that it names is not there"),
        ("InvalidParameterValue", "the request is wrong"),
        ("NotReached", "the place was not reached"),
        ("", ""),
        ("*", ""),
        ("NeverSeen", ""),
    ],
)
def test_what_a_code_means_in_words(code: str, words: str) -> None:
    assert refusal_words(code) == words


def test_every_code_of_the_tables_has_words_and_one_meaning() -> None:
    meanings: dict[str, set[str]] = {}
    for (_provider, code), row in launch_errors().items():
        if code != ANY:
            meanings.setdefault(code, set()).add(row.meaning)
    assert [code for code, found in meanings.items() if len(found) > 1] == []
    assert [code for code in meanings if not refusal_words(code)] == []
    assert "NotSent" in CODES


def test_sentences_say_the_words_then_the_code() -> None:
    refused = {"attempt": 1, "code": "InsufficientInstanceCapacity", "next": "next pool"}
    tried = {"count": 8, "code": "InsufficientInstanceCapacity"}
    assert event_text("refused", refused) == (
        "Attempt 1 was refused: no capacity (InsufficientInstanceCapacity). Next: the next offer."
    )
    assert why_text("attempts", tried) == (
        "No machine in as many attempts as are allowed (8): no capacity (InsufficientInstanceCapacity)."
    )
    assert why_text("refused", {"code": "NeverSeen", "message": "Odd."}) == "Refused: NeverSeen. Odd."
    assert why_text("refused", {"code": "", "message": "Odd."}) == "Refused: –. Odd."
    with translation.override("zh-hans"):
        assert refusal_text("InsufficientInstanceCapacity") == "没有容量（InsufficientInstanceCapacity）"
        assert event_text("refused", refused) == (
            "第 1 次尝试被拒绝：没有容量（InsufficientInstanceCapacity）。下一步：下一个报价。"
        )
