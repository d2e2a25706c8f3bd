"""A check's document as JUnit and SARIF; both say what each policy found and what has no price.

JUnit: a test case a policy; deny is a failure, cannot judge an error, warn a failure with --strict only, so
that the report agrees with the exit code. SARIF 2.1.0: a result for each resource that a policy names (the
plan itself where it names none): error for deny, warning for warn and cannot judge, note for no price.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any
from xml.etree import ElementTree

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"deny": "error", "cannot judge": "warning", "warn": "warning"}
# What XML 1.0 cannot hold.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: Any) -> str:
    return _NOT_XML.sub(" ", str(text))


def junit(document: dict[str, Any]) -> str:
    """The JUnit report."""
    policies, strict = document.get("policies", []), bool(document.get("strict"))
    broken = [one for one in policies if one["verdict"] == "deny" or (strict and one["verdict"] == "warn")]
    unclear = [one for one in policies if one["verdict"] == "cannot judge"]
    name = document.get("project") or "cost check"
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": _xml(f"offpeak {name}"), "tests": str(len(policies)), "failures": str(len(broken)),
            "errors": str(len(unclear)), "skipped": "0", "hostname": "localhost", "time": "0",
            "timestamp": str(document.get("evidence", {}).get("at") or "1970-01-01T00:00:00")[:19],
        },
    )  # fmt: skip
    ElementTree.SubElement(suite, "properties")
    for one in policies:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"name": _xml(one["title"]), "classname": f"offpeak.{one['kind']}", "time": "0"},
        )
        lines = [one["reason"], *one.get("addresses", [])]
        if one in broken or one in unclear:
            kind = "failure" if one in broken else "error"
            told = ElementTree.SubElement(
                case, kind, {"message": _xml(one["reason"]), "type": _xml(one["verdict"])}
            )
            told.text = _xml("\n".join(lines))
    out = ElementTree.SubElement(suite, "system-out")
    out.text = _xml("\n".join([document.get("sentence", ""), *_unpriced(document)]))
    ElementTree.SubElement(suite, "system-err")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _unpriced(document: dict[str, Any]) -> list[str]:
    return [f"no price: {one['address']}: {one['reason']}" for one in document.get("unpriced", [])]


def sarif(document: dict[str, Any], *, file: str, version: str) -> dict[str, Any]:
    """The SARIF log; `file` is the plan as the repository names it."""
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []
    for one in document.get("policies", []):
        if one["verdict"] not in LEVELS:
            continue
        rule = f"policy/{one['kind']}"
        rules.setdefault(rule, {"id": rule, "shortDescription": {"text": one["title"]}})
        text = f"{one['title']}: {one['reason']}"
        for address in one.get("addresses") or [""]:
            results.append(_result(rule, LEVELS[one["verdict"]], text, address, file))
    for one in document.get("unpriced", []):
        rules.setdefault(
            "no-price", {"id": "no-price", "shortDescription": {"text": "A part without a price"}}
        )
        text = f"{one['address']}: {one['reason']}; it is not in the totals"
        results.append(_result("no-price", "note", text, one["address"], file))
    driver = {"name": "Offpeak", "version": version, "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": {
            name: document.get(name)
            for name in (
                "verdict",
                "exit_code",
                "sentence",
                "incomplete",
                "currency",
                "before",
                "after",
                "delta",
            )
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(rule: str, level: str, text: str, address: str, file: str) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": 1}}
    }
    if address:
        place["logicalLocations"] = [{"fullyQualifiedName": address, "kind": "resource"}]
    print_of = hashlib.sha256(f"{rule}\n{address}".encode()).hexdigest()
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [place],
        "partialFingerprints": {"offpeak/v1": print_of},
    }


def _uri(file: str) -> str:
    from urllib.parse import quote

    return quote(file.replace("\\", "/").removeprefix("./")) if file != "-" else "plan.json"
