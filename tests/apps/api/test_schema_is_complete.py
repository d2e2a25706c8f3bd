"""The OpenAPI document tells each endpoint's purpose, units and an example that is true to its own schema."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jsonschema
import pytest
from drf_spectacular.validation import validate_schema

from apps.api.schema_hook import is_number, recorded
from apps.api.views.document import document


@lru_cache(maxsize=1)
def whole() -> dict[str, Any]:
    return document("en")


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in whole()["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def problems_of(example: Any, schema: dict[str, Any]) -> str | None:
    """Why an example is none of this schema; null beside a decimal or a date stays a value like any other."""
    found = jsonschema.Draft202012Validator({**schema, "components": whole()["components"]})
    return next((f"{error.json_path}: {error.message[:200]}" for error in found.iter_errors(example)), None)


def numbers(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in schema.get("properties", {}).items():
        if is_number(inner):
            yield f"{path}.{name}", inner
        yield from numbers(inner, f"{path}.{name}")


def test_it_is_openapi_3_1_and_names_nothing_twice(capsys: pytest.CaptureFixture[str]) -> None:
    document.cache_clear()
    found = document("en")
    assert found["openapi"] == "3.1.0"
    validate_schema(found)
    told = capsys.readouterr().err
    assert "identical names" not in told
    assert "collision" not in told
    ids = [operation["operationId"] for _name, operation in operations()]
    assert len(ids) == len(set(ids)) > 200


def test_every_endpoint_and_parameter_says_what_it_is() -> None:
    for name, operation in operations():
        text = operation["description"].partition("Role action")[0].strip()
        assert len(operation["summary"]) > 5, name
        assert len(text) > 10, name
        for parameter in operation["parameters"]:
            if "$ref" not in parameter:
                assert parameter["description"], (name, parameter["name"])


def test_every_number_has_a_unit_and_a_text() -> None:
    fields = [
        found
        for component, schema in whole()["components"]["schemas"].items()
        for found in numbers(schema, component)
    ]
    fields += [
        (f"{name}?{parameter['name']}", {**parameter["schema"], "description": parameter["description"]})
        for name, operation in operations()
        for parameter in operation["parameters"]
        if "$ref" not in parameter and is_number(parameter["schema"])
    ]
    assert len(fields) > 200
    assert [
        name for name, schema in fields if not schema.get("x-unit") or not schema.get("description")
    ] == []


def test_every_parameter_body_and_answer_has_an_example_that_its_schema_takes() -> None:
    wrong, counted = [], 0
    for name, operation in operations():
        shown = [
            (f"{name} ?{parameter['name']}", parameter.get("example"), parameter["schema"])
            for parameter in operation["parameters"]
            if "$ref" not in parameter
        ]
        shown += [
            (f"{name} body", content.get("example"), content["schema"])
            for kind, content in operation.get("requestBody", {}).get("content", {}).items()
            if kind == "application/json"
        ]
        shown += [
            (f"{name} {status}", content.get("example"), content["schema"])
            for status, answer in operation["responses"].items()
            for content in answer.get("content", {}).values()
            if content["schema"].get("format") != "binary"
        ]
        for where, example, schema in shown:
            counted += 1
            why = "no example" if example is None else problems_of(example, schema)
            if why is None and schema.get("type") == "object" and example == {}:
                why = "an empty example"
            wrong += [f"{where}: {why}"] if why else []
    assert counted > 1500
    assert wrong == []


def test_examples_belong_to_endpoints_and_hold_no_secrets_of_this_place() -> None:
    known = {operation["operationId"] for _name, operation in operations()}
    assert set(recorded()) <= known
    text = str(recorded())
    for part in ("/tmp/", "/home/", "/root/", "pytest"):
        assert part not in text


def test_problems_limits_and_repeats_are_part_of_it() -> None:
    for name, operation in operations():
        refs = [one.get("$ref", "") for one in operation["parameters"]]
        method = name.partition(" ")[0]
        assert any(ref.endswith("IdempotencyKey") for ref in refs) == (method in {"POST", "PUT", "PATCH"}), (
            name
        )
        assert any(ref.endswith("IfNoneMatch") for ref in refs) == (method == "GET"), name
        assert ("304" in operation["responses"]) == (method == "GET"), name
        for status, answer in operation["responses"].items():
            if status >= "400":
                assert list(answer["content"]) == ["application/problem+json"], (name, status)
            if status.startswith("2"):
                assert "RateLimit-Remaining" in answer["headers"], name
        assert {"400", "401", "403", "406", "429", "500"} <= set(operation["responses"]), name


def test_a_file_is_told_by_the_types_that_it_comes_in() -> None:
    answers = document("en")["paths"]["/api/v1/exports/focus"]["get"]["responses"]
    assert sorted(answers["200"]["content"]) == ["application/vnd.apache.parquet", "text/csv"]
    assert list(answers["400"]["content"]) == ["application/problem+json"]
