"""The back-test: what it charges, what it counts, and that it is the rule that decides."""

import numpy as np
import pytest

from finops.engine.backtest import backtest, backtest_workload
from finops.engine.policy import choose, decide
from finops.engine.policy.config import DEFAULT, Job, grid_before
from finops.engine.policy.panel import forward_min, make_panel
from finops.engine.policy.rule import KINDS, follow
from finops.engine.series import US_PER_HOUR as H
from tests.support.price_books import START_US, book_of, spiky_steps, walk_steps


def at(hour: float) -> int:
    return START_US + round(hour * H)


def run(book, **changes):
    ask = {
        "home_series": range(len(book)),
        "hours": [4.0],
        "slack_hours": [24.0],
        "start_us": at(240),
        "end_us": at(900),
    }
    return backtest(book, **(ask | changes))


def mixed(hours: int = 900):
    return book_of(
        {
            ("a", "m"): walk_steps(1, hours=hours),
            ("b", "m"): spiky_steps(2, hours=hours, level=0.9),
            ("a", "n"): walk_steps(3, hours=hours, level=0.8),
        },
        hours=hours,
    )


def test_two_constant_zones_give_the_savings_done_by_hand():
    book = book_of({("a", "m"): [(0, 0.2)], ("b", "m"): [(0, 0.1)]}, hours=900)
    (cell,) = run(book, on_demand={0: 0.4, 1: 0.4}).cells
    # Home a saves half, home b nothing: 25 %. On-demand at 0.4: -100 % and -300 %.
    assert cell.strategies["advice"].saving_vs_home_pct == pytest.approx(25.0)
    assert cell.strategies["zone_now"].capture == pytest.approx(1.0)
    assert cell.strategies["on_demand"].saving_vs_home_pct == pytest.approx(-200.0)
    assert cell.strategies["home_now"].saving_vs_home_pct == 0.0
    assert cell.strategies["night"].capture is None
    assert (cell.no_window_share, cell.series_without_window_share) == (1.0, 1.0)
    # 240 h + 6 h steps while 24 h of slack and 4 h of work fit before hour 900: 106 decisions a series.
    assert (cell.series, cell.decisions) == (2, 212)


def test_decisions_whose_horizon_is_not_known_do_not_count():
    book = book_of({("a", "m"): [(0, 0.2)]}, hours=300)
    (cell,) = run(book).cells
    assert cell.decisions == len(range(240, 273, 6))


def test_an_equivalent_type_is_a_place_too():
    (cell,) = run(mixed(), equivalents={"m": ["n"]}).cells
    limit = cell.strategies["clairvoyant"].saving_vs_home_pct
    assert cell.strategies["clairvoyant_type"].saving_vs_home_pct >= limit
    assert cell.strategies["type_zone_now"].decisions == cell.decisions


def test_more_freedom_never_hurts_the_optimum():
    cells = run(mixed(), slack_hours=[0.0, 4.0, 24.0], equivalents={"m": ["n"]}).cells
    for cell in cells:
        s = {name: outcome.saving_vs_home_pct for name, outcome in cell.strategies.items()}
        assert s["clairvoyant_home"] <= s["clairvoyant"] + 1e-9 <= s["clairvoyant_type"] + 2e-9
        assert s["advice"] <= s["clairvoyant"] + 1e-9
        assert s["trailing_median"] <= s["clairvoyant_home"] + 1e-9


def test_prices_after_the_end_change_nothing():
    short = run(mixed(900), end_us=at(600)).cells
    longer = book_of(
        {
            ("a", "m"): [s for s in walk_steps(1, hours=900) if s[0] <= 600] + [(601, 9.0)],
            ("b", "m"): [s for s in spiky_steps(2, hours=900, level=0.9) if s[0] <= 600] + [(601, 0.1)],
            ("a", "n"): [s for s in walk_steps(3, hours=900, level=0.8) if s[0] <= 600],
        },
        hours=900,
    )
    assert run(longer, end_us=at(600)).cells == short


def test_decide_says_what_the_back_test_does():
    book = mixed()
    grid = grid_before(at(0), at(900), at(240), DEFAULT.step_us)
    panel = make_panel(book, np.array([0, 2]), grid, DEFAULT)
    course = follow(panel, [np.array([0, 1])], Job(4 * H, 24 * H))
    for hour in range(240, 860, 13):
        got = decide(book, [0, 2], home=None, hours=4, now_us=at(hour), slack_us=24 * H)
        assert got.kind == KINDS[course.kind[0, hour]]
        if got.verdict == "now":
            assert got.series == [0, 2][course.signals.pick[0, hour]]


def test_the_workload_version_charges_what_the_chooser_does():
    book = mixed()
    cell = backtest_workload(
        book, [0, 2], home=0, hours=4, slack_hours=24, start_us=at(240), end_us=at(900), every_hours=1
    )
    times = at(240) + H * np.arange(900 - 240 - 28 + 1)
    series, start = choose(book, np.array([0, 2]), times, length_us=4 * H, slack_us=24 * H)
    paid, home = book.cost(series, start, 4 * H), book.cost(0, times, 4 * H)
    assert cell.decisions == len(times)
    assert cell.strategies["advice"].saving_vs_home_pct == pytest.approx(100 * (1 - paid.sum() / home.sum()))


def test_the_lowest_of_the_coming_instants_agrees_with_brute_force():
    rng = np.random.default_rng(7)
    values = rng.random((3, 40))
    values[0, 5] = np.nan
    for width in (1, 2, 5, 24, 60):
        want = [
            [
                np.nanmin(row[i : i + width]) if not np.isnan(row[i : i + width]).all() else np.nan
                for i in range(40)
            ]
            for row in values
        ]
        np.testing.assert_array_equal(forward_min(values, width), want)


def test_a_price_that_ties_with_home_moves_nothing():
    # The decimal 0.0371 is not what exp(log(0.0371)) gives; a turns dearer two hours after each decision.
    steps = [(h, 0.05 if h % 6 == 2 else 0.0371) for h in range(0, 900, 2)]
    book = book_of({("a", "m"): steps, ("b", "m"): [(0, 0.0371)]}, hours=900)
    (cell,) = run(book, home_series=[1]).cells
    assert cell.strategies["zone_now"].lost_share == 0.0
    assert cell.strategies["zone_now"].saving_vs_home_pct == 0.0


def test_each_cell_is_told_as_it_is_done():
    told = []
    found = run(mixed(), hours=[1.0, 4.0], slack_hours=[4.0], tell=told.append)
    assert tuple(told) == found.cells
