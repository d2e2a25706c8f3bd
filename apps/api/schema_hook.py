"""Completes the OpenAPI document: texts, units and examples of every field, headers, examples of answers.

Texts and units of names are in schema_words.py, whole examples in examples.json by operation: what the
endpoint really took and answered in a test. What has no such example gets one made of its fields.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from apps.api.schema_words import NUMBERS, TEXTS

WRITES = frozenset({"post", "put", "patch"})
BY_FORMAT = {
    "date-time": "2026-11-30T09:00:00Z",
    "date": "2026-11-30",
    "time": "09:00:00",
    "uuid": "6a0c8c0e-6d0f-4c0e-9a56-0f4ce4c3a3a1",
    "email": "ada@example.com",
    "uri": "https://offpeak.example.com/api/v1/teams?page=2",
    "decimal": "12.50",
}
_WHOLE: dict[str, Any] = {"type": "integer", "examples": [42]}
HEADERS: dict[str, tuple[str, dict[str, Any]]] = {
    "RateLimit-Limit": ("Requests a minute that the caller may send.", _WHOLE),
    "RateLimit-Remaining": ("Requests left of this minute.", _WHOLE),
    "RateLimit-Reset": ("Seconds to the next minute.", _WHOLE),
    "ETag": ("Names this answer; send it back as If-None-Match.", {"type": "string", "examples": ['"3f1c"']}),
    "Retry-After": ("Seconds to wait.", _WHOLE),
    "Idempotency-Replayed": ("true: the first request's answer.", {"type": "string", "enum": ["true"]}),
}  # fmt: skip
PARAMETERS: dict[str, dict[str, Any]] = {
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The caller's own name of this write: sent again within 24 hours it is done once.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[A-Za-z0-9._:-]+$"},
        "example": "deploy-481-budget",
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "ETag of the answer that the caller has: an unchanged one is 304 without a body.",
        "schema": {"type": "string", "pattern": '^"[0-9a-f]{1,64}"$'},
        "example": '"3f1c"',
    },
}


@lru_cache(maxsize=1)
def recorded() -> dict[str, dict[str, Any]]:
    """`{operation: {"body", "answer"}}`, each part where there is one."""
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("examples.json").read_text())
    return found


def complete(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """The hook of drf-spectacular (POSTPROCESSING_HOOKS)."""
    components = result.setdefault("components", {})
    schemas = components.get("schemas", {})
    for name, schema in schemas.items():
        _any_of_null(schema)
        _complete_fields(name, schema)
    components["headers"] = {
        name: {"description": text, "schema": schema} for name, (text, schema) in HEADERS.items()
    }
    components["parameters"] = PARAMETERS
    for methods in result["paths"].values():
        for method, operation in methods.items():
            _complete_operation(method, operation, schemas)
    return result


def _any_of_null(schema: Any) -> None:
    """`oneOf` of anything and null refuses null, which is anything too: it becomes `anyOf`."""
    if isinstance(schema, list):
        for inner in schema:
            _any_of_null(inner)
    elif isinstance(schema, dict):
        if {"type": "null"} in (schema.get("oneOf") or ()):
            schema["anyOf"] = schema.pop("oneOf")
        for inner in schema.values():
            _any_of_null(inner)


def kinds_of(schema: dict[str, Any]) -> set[str]:
    """JSON types that a schema takes, without null."""
    kind = schema.get("type", [])
    return set([kind] if isinstance(kind, str) else kind) - {"null"}


def is_number(schema: dict[str, Any]) -> bool:
    """Whether it holds a number, also one written as a decimal string."""
    return bool(kinds_of(schema) & {"number", "integer"}) or schema.get("format") == "decimal"


def _complete_fields(component: str, schema: dict[str, Any]) -> None:
    for field, inner in schema.get("properties", {}).items():
        if "$ref" not in inner:
            _complete_value(field, inner, component)
            if "examples" not in inner and (found := _small_example(field, inner, component)) is not None:
                inner["examples"] = [found]


def _complete_value(name: str, schema: dict[str, Any], place: str) -> None:
    """Text and unit by the value's name; an `example` becomes JSON Schema's `examples`."""
    if "example" in schema:
        schema["examples"] = [schema.pop("example")]
    if is_number(schema):
        word = NUMBERS.get(f"{name}:{place}") or NUMBERS.get(name) or (_id_word(name))
        if word:
            schema.setdefault("description", word.text)
            schema["x-unit"] = word.unit
    elif known := TEXTS.get(f"{name}:{place}") or TEXTS.get(name):
        schema.setdefault("description", known[0])


def _id_word(name: str) -> Any:
    return NUMBERS["id"] if name.endswith("_id") else None


def _small_example(name: str, schema: dict[str, Any], place: str) -> Any:
    """One value that the schema takes; None where nothing is known of its name and kind."""
    if enum := [one for one in schema.get("enum", []) if one]:
        return enum[0]
    kinds = kinds_of(schema)
    if is_number(schema):
        word = NUMBERS.get(f"{name}:{place}") or NUMBERS.get(name) or _id_word(name)
        return None if word is None else _as_kind(word.example, kinds)
    if kinds == {"boolean"}:
        return bool(schema.get("default", True))
    if schema.get("format") in BY_FORMAT:
        return BY_FORMAT[schema["format"]]
    known = TEXTS.get(f"{name}:{place}") or TEXTS.get(name)
    if known and len(str(known[1])) > schema.get("maxLength", 1000):
        known = TEXTS.get(f"{name}:short")
    if known and kinds == {"string"} and isinstance(known[1], str):
        return known[1]
    if known and kinds == {"array"}:
        return known[1] if isinstance(known[1], list) else str(known[1]).split(",")
    if kinds == {"string"} and name.endswith("_id"):
        return "17"
    return None


def _as_kind(example: Any, kinds: set[str]) -> Any:
    if kinds == {"string"}:
        return str(example)
    return float(example) if kinds == {"number"} else int(float(example))


def _complete_operation(method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        _complete_parameter(parameter)
    known = recorded().get(operation["operationId"], {})
    for content in operation.get("requestBody", {}).get("content", {}).values():
        content["example"] = known.get("body", example_of(content["schema"], schemas))
    common: list[dict[str, Any]] = operation.setdefault("parameters", [])
    common.append(
        {"$ref": f"#/components/parameters/{'IdempotencyKey' if method in WRITES else 'IfNoneMatch'}"}
    )
    if method == "delete":
        common.pop()
    for status, answer in operation["responses"].items():
        _complete_answer(method, status, answer, known, schemas)
    if method == "get":
        operation["responses"]["304"] = {
            "description": "What the caller has is still right.",
            "headers": _headers("ETag"),
        }


def _complete_parameter(parameter: dict[str, Any]) -> None:
    name, schema = parameter["name"], parameter["schema"]
    _complete_value(name, schema, "param")
    text = schema.pop("description", "")
    if name.endswith("_id") and not text:
        text = f"Id of the {name.removesuffix('_id').replace('_', ' ')}."
    parameter.setdefault("description", text)
    example = schema["examples"][0] if "examples" in schema else _small_example(name, schema, "param")
    if example is None:
        example = schema.get("default")
    if example is not None:
        parameter["example"] = example


def _complete_answer(
    method: str, status: str, answer: dict[str, Any], known: dict[str, Any], schemas: dict[str, Any]
) -> None:
    good = status.startswith("2")
    names = (
        ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] if status not in {"401", "500"} else []
    )
    names += ["ETag"] if good and method == "get" else []
    names += ["Idempotency-Replayed"] if good and method in WRITES else []
    names += ["Retry-After"] if status == "429" else []
    if names:
        answer["headers"] = _headers(*names)
    answer["description"] = answer.get("description") or REASONS.get(status, "What was asked for.")
    for content in answer.get("content", {}).values():
        if good and "answer" in known:
            content["example"] = known["answer"]
        elif content["schema"].get("format") != "binary":
            content["example"] = _problem(int(status)) if not good else example_of(content["schema"], schemas)


REASONS = {
    "204": "Done; there is nothing to say.",
    "400": "Values that are not right, each in `errors`.",
    "401": "No or no valid credentials.",
    "403": "The role or the key may not.",
    "404": "Nothing there, or not the caller's.",
    "406": "The answer is JSON only.",
    "409": "Not in this state, or a key of another write.",
    "413": "The body is above its limit.",
    "415": "No body of a kind that is read here.",
    "429": "Too many requests: wait `Retry-After` seconds.",
    "500": "Failed here; the log has it under `request_id`.",
    "502": "The provider refused or could not be reached.",
}


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _problem(status: int) -> dict[str, Any]:
    """A problem document of a status."""
    code = {
        400: "invalid",
        401: "not_signed_in",
        403: "not_allowed",
        404: "not_found",
        409: "wrong_state",
    }.get(status, "internal" if status >= 500 else "refused")
    text, request_id = REASONS.get(str(status), "Refused."), BY_FORMAT["uuid"]
    field = {"field": "hours", "code": "invalid"}
    words = "A valid number is required."
    return {
        "type": f"urn:offpeak:problem:{code}",
        "title": text.partition(":")[0].rstrip("."),
        "status": status,
        "detail": text,
        "instance": "/api/v1/advice/launch",
        "errors": [{**field, "pointer": "#/hours", "detail": words}] if status == 400 else [],
        "request_id": request_id,
        "error": {
            "code": code,
            "message": text,
            "fields": [{**field, "message": words}] if status == 400 else [],
            "request_id": request_id,
        },
    }


def example_of(schema: dict[str, Any], schemas: dict[str, Any], depth: int = 0) -> Any:
    """A value of the schema made of its fields' examples; optional fields of unknown kind are left out."""
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas, depth)
    if found := schema.get("examples"):
        return found[0]
    for word in ("allOf", "oneOf", "anyOf"):
        if word in schema:
            return example_of(schema[word][0], schemas, depth)
    kinds = kinds_of(schema)
    if "object" in kinds and depth < 6:
        required = schema.get("required", [])
        made = {
            name: example_of(inner, schemas, depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if not inner.get("writeOnly")
        }
        return {name: value for name, value in made.items() if value is not None or name in required}
    if "array" in kinds:
        inner = example_of(schema.get("items", {}), schemas, depth + 1)
        return [] if inner is None else [inner]
    if enum := [one for one in schema.get("enum", []) if one]:
        return enum[0]
    if kinds == {"boolean"}:
        return True
    return BY_FORMAT.get(str(schema.get("format"))) or ("text" if kinds == {"string"} else None)
