"""A real browser against a live server with the demo prices and the demo bill."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

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
SHOTS = Path(__file__).resolve().parents[2] / "var" / "screenshots"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The machine's own chromium, one for the session: a second playwright cannot start beside it."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "chromium is not in the PATH: make e2e installs it"
    with sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def site(live_server: Any, transactional_db: None, settings: Any, tmp_path: Path) -> Iterator[str]:
    """The address of a site with the demo data and the demo login."""
    cache.clear()
    with fresh_lake(settings, tmp_path / "lake"):
        demo_user_ensure(password=PASSWORD)
        services.demo_load()
        demo_bill_load()
        bills_judge(organisation=Organisation.default(), now=datetime.now(UTC))
        yield live_server.url


@pytest.fixture
def visit(browser: Browser, site: str) -> Iterator[Callable[..., Page]]:
    """`visit("/market/", width=390, theme="dark")` is a signed-in page; console errors fail the test."""
    contexts: list[BrowserContext] = []
    state: list[Any] = []
    problems: list[str] = []

    def go(
        address: str, *, width: int = 1440, theme: str = "light", language: str = "en", scripts: bool = True
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, java_script_enabled=scripts,
            storage_state=state[0] if state else None,
        )  # fmt: skip
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        if not state:
            page.goto(f"{site}/accounts/login/")
            page.fill("[name=login]", DEMO_EMAIL)
            page.fill("[name=password]", PASSWORD)
            page.click("button.primary")
            page.wait_for_url("**/overview/")
            state.append(context.storage_state())
        context.add_cookies([{"name": "django_language", "value": language, "url": site}])
        page.goto(site + address)
        page.wait_for_load_state("networkidle")
        return page

    yield go
    for context in contexts:
        context.close()
    assert problems == []
