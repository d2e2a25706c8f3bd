"""The servers that the suite itself runs on."""

import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.cache import cache
from django.db import connection
from kombu import Connection


@pytest.mark.django_db
def test_the_suite_runs_on_postgresql_18() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        assert cursor.fetchone()[0].startswith("18")


def test_the_cache_and_the_broker_answer() -> None:
    cache.set("answer", 42, 60)
    assert cache.get("answer") == 42
    with Connection(os.environ["BROKER_URL"]) as broker:
        queue = broker.SimpleQueue("session-servers")
        queue.put("hello")
        message = queue.get(timeout=5)
        message.ack()
        assert message.payload == "hello"


def test_the_lake_of_the_suite_is_a_temporary_folder_of_this_worker() -> None:
    home = Path(os.environ["OFFPEAK_HOME"])
    assert Path(os.environ["LAKE_WAREHOUSE"]) == home / "lake"
    assert home.is_relative_to(os.environ["OFFPEAK_TEST_HOME"])
    sockets = Path(parse_qs(urlsplit(os.environ["DATABASE_URL"]).query)["host"][0])
    assert sockets.stat().st_mode & 0o777 == 0o700
