"""JUnit and SARIF of one document: counts that agree with the verdict, nothing that breaks a parser."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

sys.path.append(str(Path(__file__).parents[2] / "client"))
formats: Any = importlib.import_module("offpeak.formats")


def policy(verdict: str, kind: str = "max_increase", *addresses: str) -> dict[str, Any]:
    return {
        "kind": kind, "verdict": verdict, "title": f"Title <{kind}>", "reason": "80 is above\x00 & more",
        "addresses": list(addresses),
    }  # fmt: skip


def document(*policies: dict[str, Any], strict: bool = False) -> dict[str, Any]:
    return {
        "verdict": "deny", "exit_code": 20, "sentence": "Deny: +80.00 USD a month.", "strict": strict,
        "policies": list(policies), "project": "infra/<prod>", "evidence": {"at": "2026-11-30T12:00:00Z"},
        "unpriced": [{"address": 'aws_x.y["]]>"]', "reason": "no price is known for aws_x"}],
        "incomplete": 1, "currency": "USD", "before": "absent", "after": None, "delta": None,
    }  # fmt: skip


@pytest.mark.parametrize(("strict", "failures"), [(False, 1), (True, 2)])
def test_junit_counts_what_the_exit_code_says(strict: bool, failures: int) -> None:
    made = formats.junit(
        document(policy("deny"), policy("warn"), policy("pass"), policy("cannot judge"), strict=strict)
    )
    suite = ElementTree.fromstring(made)  # noqa: S314 (our own text)
    assert suite.tag == "testsuite"
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", str(failures), "1")
    assert [child.tag for child in suite] == ["properties", *["testcase"] * 4, "system-out", "system-err"]
    assert len(suite.findall("testcase/failure")) == failures
    told = suite.find("testcase/failure")
    assert told is not None
    assert told.get("type") == "deny"
    assert "80 is above" in str(told.text)
    assert 'no price: aws_x.y["]]>"]' in str(suite.findtext("system-out"))


def test_sarif_names_each_resource_once_a_policy() -> None:
    made = formats.sarif(
        document(policy("deny"), policy("warn", "volume_types", "a.b", "a.c"), policy("pass", "all_priced")),
        file="./infra/plan 1.json", version="0.1.0",
    )  # fmt: skip
    (run,) = made["runs"]
    assert (made["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "Offpeak")
    results = [(one["ruleId"], one["level"]) for one in run["results"]]
    assert results == [
        ("policy/max_increase", "error"), ("policy/volume_types", "warning"),
        ("policy/volume_types", "warning"), ("no-price", "note"),
    ]  # fmt: skip
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert ids == ["policy/max_increase", "policy/volume_types", "no-price"]
    place = run["results"][1]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "infra/plan%201.json"
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "a.b"
    prints = {one["partialFingerprints"]["offpeak/v1"] for one in run["results"]}
    assert len(prints) == 4
    assert run["properties"]["before"] == "absent"
    json.dumps(made, allow_nan=False)
