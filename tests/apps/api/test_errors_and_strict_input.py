"""One error shape; unknown and malformed input is named, never ignored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.http import QueryDict
from django.test import Client
from rest_framework import serializers

from apps.accounts.models import ApiKey
from apps.api.strict import (
    CommaListField,
    DecimalTextField,
    PageQuery,
    StrictQuery,
    StrictSerializer,
    UtcDateTimeField,
)

Make = Callable[..., Client]


class Part(StrictSerializer):
    hours = serializers.FloatField()


class Body(StrictSerializer):
    at = UtcDateTimeField(required=False)
    price = DecimalTextField(required=False)
    parts = Part(many=True, required=False)


class Query(StrictQuery):
    regions = CommaListField(child=serializers.CharField(), required=False)
    tag = serializers.ListField(child=serializers.CharField(), required=False)
    limit = serializers.IntegerField(default=5)


def problems(serializer: serializers.Serializer) -> dict[str, list[str]]:
    serializer.is_valid()
    return {name: [error.code for error in errors] for name, errors in serializer.errors.items()}


def test_unknown_fields_are_named_beside_the_wrong_ones() -> None:
    assert problems(Body(data={"at": "x", "hurs": 1, "a.b": 2})) == {
        "at": ["invalid"],
        "hurs": ["unknown"],
        "a.b": ["unknown"],
    }
    serializer = Body(data={"parts": [{"hours": 1}, {"hour": 2}]})
    assert not serializer.is_valid()
    assert sorted(serializer.errors["parts"][1]) == ["hour", "hours"]


@pytest.mark.parametrize(
    "text", ["2026-03-06T09:00:00Z", "2026-03-06T10:00:00+01:00", "2026-03-06T02:30:00-0630"]
)
def test_times_need_an_offset_and_become_utc(text: str) -> None:
    serializer = Body(data={"at": text})
    assert serializer.is_valid(), serializer.errors
    assert serializer.validated_data["at"] == datetime(2026, 3, 6, 9, tzinfo=UTC)
    assert serializer.validated_data["at"].tzinfo is UTC
    assert UtcDateTimeField().to_representation(serializer.validated_data["at"]) == "2026-03-06T09:00:00Z"


@pytest.mark.parametrize(
    ("text", "code"),
    [("2026-03-06T09:00:00", "naive"), ("2026-03-06", "date"), ("0001-01-01T00:00:00+14:00", "overflow")],
)
def test_times_without_an_offset_are_refused(text: str, code: str) -> None:
    assert problems(Body(data={"at": text})) in ({"at": [code]}, {"at": ["invalid"]}, {"at": ["naive"]})


def test_decimals_are_strings_and_keep_their_digits() -> None:
    serializer = Body(data={"price": "0.3060000000"})
    assert serializer.is_valid()
    assert serializer.validated_data["price"] == Decimal("0.306")
    field = DecimalTextField()
    assert field.to_representation(Decimal("1E-7")) == "0.0000001"
    assert field.to_representation(Decimal("12.50")) == "12.50"
    assert problems(Body(data={"price": 0.306})) == {"price": ["float"]}
    assert problems(Body(data={"price": "1,5"})) == {"price": ["invalid"]}
    assert problems(Body(data={"price": "NaN"})) == {"price": ["invalid"]}


def test_query_parameters_are_strict_too() -> None:
    assert Query.parse(QueryDict("regions=a,b,&tag=x&tag=y")) == {
        "regions": ["a", "b"],
        "tag": ["x", "y"],
        "limit": 5,
    }
    with pytest.raises(serializers.ValidationError) as refused:
        Query.parse(QueryDict("limit=1&limit=2"))
    assert refused.value.get_codes() == {"limit": ["repeated"]}
    with pytest.raises(serializers.ValidationError) as refused:
        PageQuery.parse(QueryDict("page=0&sort=x"))
    assert refused.value.get_codes() == {"sort": ["unknown"], "page": ["min_value"]}


@pytest.mark.django_db
def test_the_shape_of_a_refusal(sign_in: Make) -> None:
    client = sign_in("admin")
    response = client.post(
        "/api/v1/keys", {"name": "", "scopes": ["root"], "admin": True}, "application/json"
    )
    assert response.status_code == 400
    error = response.json()["error"]
    assert sorted(error) == ["code", "fields", "message", "request_id"]
    assert (error["code"], error["message"]) == ("invalid", "3 values are not right.")
    assert [(field["field"], field["code"]) for field in error["fields"]] == [
        ("admin", "unknown"),
        ("name", "blank"),
        ("scopes[0]", "invalid_choice"),
    ]
    assert error["fields"][0]["message"] == "Unknown. Known: name, scopes, expires_days, team."
    assert len(error["request_id"]) == 36
    assert ApiKey.objects.count() == 0

    response = client.get("/api/v1/me?colour=red")
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "colour: Unknown. Known: -."


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/v1/nothing", None, 404, "not_found"),
        ("POST", "/api/v1/", "{}", 404, "not_found"),
        ("DELETE", "/api/v1/me", None, 405, "method_not_allowed"),
        ("OPTIONS", "/api/v1/me", None, 405, "method_not_allowed"),
        ("POST", "/api/v1/keys", "{", 400, "unreadable_body"),
        ("POST", "/api/v1/keys", "[1]", 400, "invalid"),
        ("POST", "/api/v1/keys", '{"name": NaN}', 400, "unreadable_body"),
        ("POST", "/api/v1/keys", '{"name": "\\u0000", "scopes": ["read:prices"]}', 400, "invalid"),
        ("POST", "/api/v1/keys", "[" * 100_000, 400, "unreadable_body"),
        ("POST", "/api/v1/keys/999999/revoke", "{}", 404, "not_found"),
        ("POST", "/api/v1/keys/99999999999999999999/revoke", "{}", 404, "not_found"),
        ("GET", "/api/v1/keys?page=7", None, 404, "not_found"),
    ],
)
def test_every_failure_has_the_shape(
    sign_in: Make, method: str, path: str, body: str | None, status: int, code: str
) -> None:
    client = sign_in("admin")
    response = client.generic(method, path, body or "", "application/json")
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert sorted(response.json()["error"]) == ["code", "fields", "message", "request_id"]
    assert response["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert sorted(problem) == [
        *("detail", "error", "errors", "instance", "request_id", "status", "title", "type")
    ]
    assert (problem["type"], problem["status"]) == (f"urn:offpeak:problem:{code}", status)
    assert (problem["instance"], problem["detail"]) == (path.partition("?")[0], problem["error"]["message"])
    assert problem["title"]


@pytest.mark.django_db
def test_a_problem_points_into_the_body_and_not_into_an_address(sign_in: Make) -> None:
    client = sign_in("admin")
    body = {"name": "", "scopes": ["read:prices", "root"], "a/b~c": 1}
    problem = client.post("/api/v1/keys", body, "application/json").json()
    assert [(one["field"], one["pointer"], one["code"]) for one in problem["errors"]] == [
        ("a/b~c", "#/a~1b~0c", "unknown"),
        ("name", "#/name", "blank"),
        ("scopes[1]", "#/scopes/1", "invalid_choice"),
    ]
    problem = client.get("/api/v1/keys?page=0").json()
    assert [(one["field"], one["pointer"]) for one in problem["errors"]] == [("page", None)]
    problem = client.post("/api/v1/keys?x=1", body, "application/json").json()
    assert [(one["field"], one["pointer"]) for one in problem["errors"]] == [("x", None)]


@pytest.mark.django_db
def test_what_fails_before_a_view_is_a_problem_below_api_and_a_page_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client(raise_request_exception=False)
    told = client.get("/api/v1/me", headers={"Host": "evil.example"})
    assert (told.status_code, told["Content-Type"]) == (400, "application/problem+json")
    assert told.json()["error"]["code"] == "bad_request"
    assert client.get("/", headers={"Host": "evil.example"})["Content-Type"].startswith("text/html")
    told = client.get("/api/v2/me")
    assert (told.status_code, told["Content-Type"]) == (404, "application/problem+json")

    def broken(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("connect to postgres://u:CANARY@db failed")

    monkeypatch.setattr("apps.accounts.middleware.membership_of", broken)
    monkeypatch.setattr("apps.accounts.middleware.translation.activate", broken)
    monkeypatch.setattr("django.middleware.locale.translation.activate", broken)
    told = client.get("/api/v1/me")
    assert (told.status_code, told["Content-Type"]) == (500, "application/problem+json")
    assert told.json()["error"]["code"] == "internal"
    assert b"CANARY" not in told.content


@pytest.mark.django_db
@pytest.mark.parametrize(("headers", "status"), [({}, 401), ({"Accept": "text/html"}, 406)])
def test_no_sign_in_and_no_json_are_problems(sign_in: Make, headers: dict[str, str], status: int) -> None:
    client = sign_in("viewer") if headers else Client()
    told = client.get("/api/v1/me", headers=headers)
    assert (told.status_code, told["Content-Type"]) == (status, "application/problem+json")


@pytest.mark.django_db
def test_bodies_are_limited_and_other_kinds_refused(sign_in: Make, settings: pytest.FixtureRequest) -> None:
    settings.API_BODY_MAX_BYTES = 100  # type: ignore[attr-defined]
    client = sign_in("admin")
    response = client.post("/api/v1/keys", '{"name": "%s"}' % ("x" * 200), "application/json")
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")
    response = client.post("/api/v1/keys", "a=b", "application/x-www-form-urlencoded")
    assert (response.status_code, response.json()["error"]["code"]) == (415, "unsupported_media_type")


@pytest.mark.django_db
def test_an_unexpected_failure_is_logged_and_tells_nothing(
    sign_in: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("connect to postgres://u:CANARY@db failed")

    client = sign_in("admin")
    monkeypatch.setattr("apps.api.views.accounts.api_key_list", broken)
    with caplog.at_level("ERROR"):
        response = client.get("/api/v1/keys")
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal"
    assert "CANARY" not in response.content.decode()
    assert "CANARY" not in caplog.text
    assert "RuntimeError" in caplog.text
