"""Pages as people see them: every width and theme, by keyboard, without scripts, checked by axe."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.e2e.conftest import SHOTS

pytestmark = pytest.mark.e2e
Visit = Callable[..., Page]
PAGES = ("market", "run", "data", "settings")
BILL_PAGES = (
    "/overview/", "/spend/", "/spend/budgets/", "/spend/anomalies/", "/spend/allocation/", "/spend/changes/",
    "/spend/tags/", "/data/bills/", "/deals/commitments/",
)  # fmt: skip
# Each width with each theme and each language, each theme with each language.
LOOKS = (
    (1440, "light", "en"), (1440, "dark", "zh-hans"), (390, "light", "zh-hans"), (390, "dark", "en"),
)  # fmt: skip
RUN = (
    "/run/?hours=8&types=p3.2xlarge&regions=us-east-1&regions=us-west-2&home_zone=us-east-1b"
    "&slack_hours=24&interruptible=on"
)


def overflow(page: Page) -> int:
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


def test_every_page_in_every_width_and_theme(visit: Visit) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        for width, theme, language in LOOKS:
            page = visit(f"/{name}/", width=width, theme=theme, language=language)
            assert page.locator("h1").inner_text().strip()
            assert overflow(page) == 0, (name, width)
            page.screenshot(path=SHOTS / f"{name}-{width}-{theme}-{language}.png", full_page=True)
            page.context.close()


def test_no_page_scrolls_sideways_at_320(visit: Visit) -> None:
    for name in PAGES:
        page = visit(f"/{name}/", width=320)
        assert overflow(page) == 0, name
        page.context.close()


def test_pages_of_bills_fit_every_width(visit: Visit) -> None:
    for address in BILL_PAGES:
        for width, language in ((1440, "en"), (390, "zh-hans"), (320, "en")):
            page = visit(address, width=width, language=language)
            assert page.locator("h1").inner_text().strip()
            assert overflow(page) == 0, (address, width)
            page.context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Visit, theme: str) -> None:
    for address in ("/market/", RUN, "/data/", "/settings/", "/settings/audit/", *BILL_PAGES):
        for width in (1440, 390):
            page = visit(address, width=width, theme=theme)
            found = Axe().run(page).response["violations"]
            serious = [
                (v["id"], [node["html"][:160] for node in v["nodes"]][:3]) for v in found
                if v["impact"] in ("serious", "critical")
            ]  # fmt: skip
            assert serious == [], (address, width)
            page.context.close()


def test_charts_are_drawn_in_the_colours_of_the_theme_and_follow_it(visit: Visit) -> None:
    page = visit("/market/")
    lines = "document.querySelector('[data-figure] .scatterlayer .trace:last-child .js-line').style.stroke"
    assert page.evaluate(lines) == "rgb(201, 106, 10)" or page.evaluate(lines) == "rgb(58, 72, 184)"
    page.locator(".topbar .menu.user summary").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    page.wait_for_function(f"{lines}.includes('142, 155, 255') || {lines}.includes('241, 154, 62')")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_filters_stay_in_the_address(visit: Visit) -> None:
    page = visit("/market/")
    page.select_option("select[name=type]", "p2.xlarge")
    page.wait_for_url("**type=p2.xlarge**")
    page.wait_for_function("document.querySelector('h1').innerText.includes('p2.xlarge')")
    page.get_by_role("link", name="7 d", exact=True).click()
    page.wait_for_url("**days=7**")
    assert "type=p2.xlarge" in page.url
    assert page.locator("select[name=type]").input_value() == "p2.xlarge"


def test_the_keyboard_is_enough(visit: Visit) -> None:
    page = visit("/run/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    hours = page.locator("input[name=hours]")
    hours.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    page.wait_for_url("**hours=4**")
    assert "4 hours on one p3.2xlarge" in page.locator(".eyebrow").inner_text()
    page.locator(".topbar .menu.user summary").focus()
    page.keyboard.press("Enter")
    assert page.locator(".topbar .menu.user").get_attribute("open") is not None
    page.keyboard.press("Escape")
    assert page.locator(".topbar .menu.user").get_attribute("open") is None


def test_answers_and_tables_need_no_script(browser: object, visit: Visit) -> None:
    visit("/data/").context.close()  # signs in
    page = visit(RUN, scripts=False)
    assert "now saves" in page.locator("h1").inner_text()
    assert page.locator("#h-plans").is_visible()
    assert page.locator("table").first.locator("tbody tr").count() > 4
    page = visit("/market/", scripts=False)
    assert page.get_by_role("button", name="Show").is_visible()
    assert page.locator("noscript").first.inner_text()
