"""The comment says what was cut, and nothing of a plan becomes markup, a cell or a mention in it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from apps.costchecks.comment import LIMITS, MOST_POLICIES, comment_markdown

# A cell of a table as the forges' own parser reads it: what stands behind a backslash ends nothing.
_CELL = re.compile(r"(?:\\[!-/:-@\[-`{-~]|[^|\r\n])+")


def ends(value: str) -> dict[str, str]:
    return dict.fromkeys(("low", "expected", "high"), value)


def resource(address: str, delta: str = "80", summary: str = "gp3, 1000 GiB") -> dict[str, Any]:
    return {
        "address": address, "kind": "aws_ebs_volume", "action": "create", "summary": summary,
        "region": "us-east-1", "before": "absent", "after": ends(delta), "delta": ends(delta),
    }  # fmt: skip


def policy(verdict: str, title: str = "Rise of at most 40 USD a month") -> dict[str, Any]:
    return {"kind": "max_increase", "verdict": verdict, "title": title, "reason": "80.00 USD is above"}


def document(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "project": "infra", "sentence": "Deny: +80.00 USD a month.", "currency": "USD", "incomplete": 0,
        "before": "absent", "after": ends("80"), "delta": ends("80"), "policies": [], "alternatives": [],
        "resources": list(resources), "resources_left_out": 0, **more,
    }  # fmt: skip


def rows(text: str) -> list[list[str]]:
    return [_CELL.findall(line) for line in text.splitlines() if line.startswith("| create")]


@pytest.mark.parametrize(
    "inner", ["|", r"\|", r"\\|", r"\| 0.00 \|", r"a\\\| @all ![x](https://x.test/y) \|", "`|`", "\\"]
)
def test_an_address_never_leaves_its_cell(inner: str) -> None:
    (cells,) = rows(comment_markdown(document(resource(f'aws_ebs_volume.a["{inner}"]'))))
    assert len(cells) == 3
    assert cells[0].strip() == "create"
    assert cells[2].strip() == "+80.00"
    assert cells[1].count("`") == 2


def test_a_text_mentions_nobody_in_any_forge() -> None:
    text = comment_markdown(
        document(resource("a.b", summary="@org/team"), policies=[policy("warn", "ask @ada")])
    )
    assert "@" not in text.replace("&#64;&#8203;", "")
    assert text.count("&#64;&#8203;") == 2


def test_resources_that_are_not_listed_are_counted_as_left_out() -> None:
    text = comment_markdown(document(resource("a.b"), resources_left_out=7))
    assert "… and 7 more, which are in the totals above." in text


def test_the_worst_policy_is_shown_and_the_others_are_counted() -> None:
    many = [policy("pass", f"number {i}") for i in range(MOST_POLICIES + 5)]
    text = comment_markdown(document(policies=[*many, policy("deny", "the one that broke")]))
    lines = [line for line in text.splitlines() if line.startswith(("| Pass", "| Deny"))]
    assert len(lines) == MOST_POLICIES
    assert "the one that broke" in lines[0]
    assert "… and 6 more policies" in text


@pytest.mark.parametrize("forge", sorted(LIMITS))
def test_long_policies_are_cut_with_their_number_and_the_link_stays(forge: str) -> None:
    wide = "@" * 200
    found = document(
        *(resource(f"a.b{i}") for i in range(10)),
        policies=[*(policy("warn", wide) for _ in range(60)), policy("deny", "the one that broke")],
        resources_left_out=1,
    )
    text = comment_markdown(found, forge=forge, link="https://offpeak.test/checks/1/")
    assert len(text.encode()) <= LIMITS[forge]
    assert r"Deny: \+80.00 USD a month." in text
    assert "the one that broke" in text
    assert "(https://offpeak.test/checks/1/)" in text
    assert re.search(r"… and \d+ more policies", text)
    assert re.search(r"… and \d+ more, which are in the totals above", text)
