"""Pages as people see them: every width and theme, by keyboard, without scripts, checked by axe."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.support.looks import look_at

pytestmark = pytest.mark.e2e
Visit = Callable[..., Page]
RUN = (
    "/run/?hours=8&types=p3.2xlarge&regions=us-east-1&regions=us-west-2&home_zone=us-east-1b"
    "&slack_hours=24&interruptible=on"
)


# The pages of the navigation, each seen in two looks: every width meets every theme on one half of them.
PAGES = {
    "market": "/market/", "run": RUN, "data": "/data/", "settings": "/settings/", "audit": "/settings/audit/",
    "overview": "/overview/", "spend": "/spend/", "budgets": "/spend/budgets/",
    "anomalies": "/spend/anomalies/", "allocation": "/spend/allocation/", "changes": "/spend/changes/",
    "tags": "/spend/tags/", "bills": "/data/bills/", "commitments": "/deals/commitments/", "deals": "/deals/",
    "run-empty": "/run/", "storage": "/storage/", "checkpoints": "/storage/checkpoints/",
    "purchases": "/deals/purchases/", "storage-prices": "/storage/prices/",
    "launches": "/launches/", "launch-plans": "/launches/plans/", "launch-new": "/launches/plans/new/",
    "checks": "/checks/", "check-policies": "/checks/policies/",
    "pools": "/launches/pools/?hours=8&units=1", "schedules": "/launches/schedules/",
    "launch limits": "/launches/limits/", "launch bursts": "/launches/bursts/",
    "reports": "/reports/", "alerts": "/reports/alerts/", "waste": "/waste/", "waste-rules": "/waste/rules/",
    "waste-rule": "/waste/rules/nights-and-weekends/", "waste-metrics": "/waste/metrics/",
    "waste-clusters": "/waste/kubernetes/", "second-factor": "/settings/second-factor/",
}  # fmt: skip
LOOKS = (
    ((1440, "light", "en"), (390, "dark", "zh-hans")),
    ((1440, "dark", "zh-hans"), (390, "light", "en")),
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_width_and_axe_finds_nothing_serious(visit: Visit, name: str) -> None:
    for width, theme, language in LOOKS[list(PAGES).index(name) % 2]:
        look_at(visit, PAGES[name], name=name, width=width, theme=theme, language=language)


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
