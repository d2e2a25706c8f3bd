"""A real browser over the pages: sign in, look around by link and keyboard, at two widths, without errors."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Request, expect
from pytest_django.live_server_helper import LiveServer

PASSWORD = "a long pass phrase for the browser"
PAGES = ("", "market/", "run/", "data/", "settings/")

pytestmark = pytest.mark.e2e


@pytest.fixture
def login(transactional_db: None) -> str:
    from apps.accounts.services import demo_user_ensure

    return str(demo_user_ensure(password=PASSWORD).get_username())


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(20_000)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda request: problems.append(failure(request)) if failure(request) else None)
    page.on(
        "response",
        lambda answer: problems.append(f"{answer.status}: {answer.url}") if answer.status >= 500 else None,
    )
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((live_server.url, "data:", "blob:"))
            else problems.append(f"outside: {request.url}")
        ),
    )
    yield page
    context.close()
    assert problems == []


def failure(request: Request) -> str:
    """Say what failed; a request that the next page cut off is no fault."""
    return "" if request.failure == "net::ERR_ABORTED" else f"failed: {request.url} {request.failure}"


def sign_in(page: Page, login: str) -> None:
    page.goto("/accounts/login/")
    page.locator("input[name=login]").fill(login)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("form[action='/accounts/login/'] button[type=submit]").click()
    page.wait_for_url("**/")


def test_without_sign_in_every_page_leads_to_the_sign_in(page: Page, login: str) -> None:
    for path in PAGES:
        page.goto(f"/{path}")
        assert "/accounts/login/" in page.url


def test_a_wrong_password_is_told_and_opens_nothing(page: Page, login: str) -> None:
    page.goto("/accounts/login/")
    page.locator("input[name=login]").fill(login)
    page.locator("input[name=password]").fill("not the pass phrase at all")
    page.locator("form[action='/accounts/login/'] button[type=submit]").click()
    page.wait_for_load_state()
    assert "/accounts/login/" in page.url
    page.goto("/market/")
    assert "/accounts/login/" in page.url


@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_opens_and_fits_the_screen(page: Page, login: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    sign_in(page, login)
    for path in PAGES:
        answer = page.goto(f"/{path}")
        assert answer
        assert answer.status == 200
        expect(page.locator("h1").first).to_be_visible()
        overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert overflow <= 0, f"/{path} is {overflow} px wider than {width}"


def test_the_first_tab_stop_is_the_way_past_the_navigation(page: Page, login: str) -> None:
    sign_in(page, login)
    page.goto("/market/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href') || ''").startswith("#")
