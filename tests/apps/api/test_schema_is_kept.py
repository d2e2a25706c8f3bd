"""Schemathesis sends what the OpenAPI document allows and what it forbids; no answer may leave the document.

Bounded and derandomized: a failure here is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.accounts.roles import Scope
from apps.accounts.services import api_key_create
from apps.api.views.document import document
from finops.wsgi import application

# Requests for each endpoint and way: there are hundreds of endpoints, and the whole suite has a time.
EXAMPLES = 3
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """Requests stay on the test's connection and transaction, as with Django's own test client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.django_db
@pytest.mark.usefixtures("_one_connection")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_endpoint_answers_within_its_document(mode: GenerationMode) -> None:
    organisation = Organisation.default()
    Membership.objects.create(
        user=User.objects.create_user("a@example.test"), organisation=organisation, role="admin"
    )
    _key, token = api_key_create(
        organisation=organisation,
        actor=Actor.system("test"),
        name="x",
        scopes=list(Scope),
        now=timezone.now(),
    )
    schema = schemathesis.openapi.from_dict(document("en"))
    schema.app = application
    called = set()
    for result in schema.get_all_operations():
        operation = result.ok()

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def check(case: schemathesis.Case) -> None:
            response = case.call(headers={"Authorization": f"Bearer {token}"})
            called.add(case.operation.label)
            assert response.status_code < 500, response.text
            case.validate_response(response, checks=CHECKS)

        check()
    assert len(called) >= 8
