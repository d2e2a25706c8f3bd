"""Figures: colours as names, ticks in the zone, labels apart, text that cannot leave its block."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import orjson
import pytest
from django.template import Context, Template

from apps.dashboard.figures import prices
from apps.dashboard.figures.template import LABEL_GAP_PX, EndLabel, spread_labels, time_ticks, value_range
from finops.engine.series import to_us

START = datetime(2020, 3, 1, tzinfo=UTC)
END = START + timedelta(days=14)


def a_line(name: str = "us-east-1a", **options: str) -> prices.Line:
    points = [(to_us(START), 1.0), (to_us(START + timedelta(days=3)), None), (to_us(END), 1.1)]
    return prices.Line(name, name[-2:], points, **options)


def test_prices_are_stepped_lines_and_gaps_stay_gaps() -> None:
    figure = prices.price_lines([a_line()], start=START, end=END, zone=UTC, lang="en")
    assert figure is not None
    trace = figure["data"][0]
    assert trace["line"] == {"shape": "hv", "width": 1.25, "color": "@c-other", "dash": "solid"}
    assert trace["x"] == ["2020-03-01 00:00:00", "2020-03-04 00:00:00", "2020-03-15 00:00:00"]
    assert trace["y"] == [1.0, None, 1.1]
    assert trace["connectgaps"] is False
    assert figure["layout"]["annotations"][0]["text"] == "us-east-1a 1.1000"
    assert figure["phone"]["annotations"][0]["text"] == "1a"
    assert orjson.loads(orjson.dumps(figure)) == figure


def test_no_price_is_no_figure() -> None:
    line = prices.Line("a", "a", [])
    assert prices.price_lines([line], start=START, end=END, zone=UTC, lang="en") is None


def test_the_axis_is_the_wall_clock_of_the_zone() -> None:
    zone = ZoneInfo("Asia/Shanghai")
    figure = prices.price_lines([a_line()], start=START, end=END, zone=zone, lang="zh-hans")
    assert figure is not None
    assert figure["data"][0]["x"][0] == "2020-03-01 08:00:00"
    assert figure["layout"]["xaxis"]["ticktext"][0] == "2020年3月2日"


def test_ticks_stand_at_local_midnights_over_a_clock_change() -> None:
    places, words = time_ticks(START, START + timedelta(days=40), ZoneInfo("Europe/Berlin"), "en")
    assert places == ["2020-03-02 00:00:00", "2020-03-09 00:00:00", "2020-03-16 00:00:00",
                      "2020-03-23 00:00:00", "2020-03-30 00:00:00", "2020-04-06 00:00:00"]  # fmt: skip
    assert words[:2] == ["2 Mar 2020", "9 Mar"]


@pytest.mark.parametrize(
    ("values", "bottom", "top", "step"),
    [([0.92, 1.23], 0.9, 1.3, 0.1), ([2.0, 7.2], 0, 8, 2), ([1.0, 1.0], 0.995, 1.005, 0.005)],
)
def test_a_cut_axis_holds_all_values(values: list[float], bottom: float, top: float, step: float) -> None:
    low, high, width = value_range(values)
    assert low <= min(values)
    assert high >= max(values)
    assert (round(low, 6), round(high, 6), round(width, 6)) == (
        bottom,
        pytest.approx(top, abs=2 * step),
        pytest.approx(step),
    )


def test_labels_at_one_height_are_moved_apart_and_stay_inside() -> None:
    labels = [EndLabel(str(i), 1.0, "@ink") for i in range(5)]
    placed = [y for _label, y in spread_labels(labels, 0.9, 1.0, 300)]
    gap = LABEL_GAP_PX / 260 * 0.1
    assert placed[-1] <= 1.0
    assert all(b - a >= gap * 0.999 for a, b in pairwise(placed))


def test_the_week_map_is_symmetric_and_has_168_cells() -> None:
    relative: list[float | None] = [1.0] * 168
    relative[5], relative[30] = 1.42, None
    figure = prices.week_map(relative, ["Mon"] * 7)
    trace = figure["data"][0]
    assert (trace["zmin"], trace["zmax"]) == (-45, 45)
    assert trace["z"][0][5] == 42.0
    assert trace["z"][1][6] is None
    assert trace["colorscale"][0] == [0.0, "@d-3"]
    with pytest.raises(ValueError, match="168"):
        prices.week_map(relative[:-1], ["Mon"] * 7)


def test_text_in_a_figure_cannot_end_its_block() -> None:
    page = Template("{% load offpeak %}{% figure_json figure 'f' %}").render(
        Context({"figure": {"text": "</script><script>alert(1)</script>"}})
    )
    assert page.count("<script") == 1
    assert page.count("</script>") == 1


def test_the_figure_of_a_heading_is_marked_and_the_rest_escaped() -> None:
    page = Template("{% load offpeak %}{{ text|answer }}|{{ text|plain }}").render(
        Context({"text": "<b> saves [[16.2 %]]"})
    )
    assert page == '&lt;b&gt; saves <span class="key">16.2 %</span>|&lt;b&gt; saves 16.2 %'
