"""A real browser against a live server with the demo prices and the demo bill."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings as live_settings
from django.core.cache import cache
from django.test import override_settings
from django.test.utils import setup_databases, teardown_databases
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import Organisation
from apps.accounts.services.members import DEMO_EMAIL, demo_user_ensure
from apps.billing.services.watch import bills_judge
from apps.ingest import services
from apps.ingest.bills.demo import demo_bill_load
from tests.support.lake import fresh_lake

# playwright's own loop runs in this thread; the ORM calls of the fixtures are not inside a coroutine.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
PASSWORD = "correct horse battery"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The machine's own chromium, one for the session: a second playwright cannot start beside it."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "chromium is not in the PATH: make e2e installs it"
    with sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: Any) -> Iterator[None]:
    """The database, also when no test that was chosen asks for one of its own."""
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False, aliases={"default"})
    yield
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


@pytest.fixture(scope="session")
def site(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any) -> Iterator[str]:
    """The address of a site with the demo data and the demo login, one for the session.

    Loading takes most of a minute, so tests that write put back what they changed. Tests with a database of
    their own (`transactional_db`) run before all others and empty it when they end.
    """
    with django_db_blocker.unblock(), override_settings(LAKE_WAREHOUSE=""):
        cache.clear()
        with fresh_lake(live_settings, tmp_path_factory.mktemp("lake")):
            demo_user_ensure(password=PASSWORD)
            services.demo_load()
            demo_bill_load()
            bills_judge(organisation=Organisation.default(), now=datetime.now(UTC))
            server = LiveServer("localhost")
            with server._live_server_modified_settings:
                yield server.url
            server.stop()


@pytest.fixture(scope="session")
def signed_in(browser: Browser, site: str) -> Any:
    """The browser state of the demo login."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site}/accounts/login/")
    page.fill("[name=login]", DEMO_EMAIL)
    page.fill("[name=password]", PASSWORD)
    page.click("button.primary")
    page.wait_for_url("**/overview/")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def visit(browser: Browser, site: str, signed_in: Any) -> Iterator[Callable[..., Page]]:
    """`visit("/market/", width=390, theme="dark")` is a signed-in page; console errors fail the test."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def go(
        address: str, *, width: int = 1440, theme: str = "light", language: str = "en", scripts: bool = True
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, java_script_enabled=scripts,
            storage_state=signed_in,
        )  # fmt: skip
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        context.add_cookies([{"name": "django_language", "value": language, "url": site}])
        page.goto(site + address)
        page.wait_for_load_state("networkidle")
        return page

    yield go
    for context in contexts:
        context.close()
    assert problems == []
