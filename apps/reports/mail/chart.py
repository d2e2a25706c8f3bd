"""The mail's one chart: fourteen days as bars, a PNG drawn without a browser.

Twice the pixels of its place in the mail, few colours, a white ground in both themes: mail programs do not
turn the colours of pictures. Only digits are written into it: words stand in the mail, in its language.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from finops.text import display as fmt

WIDTH, HEIGHT, SCALE = 560, 220, 2
LEFT, RIGHT, TOP, BOTTOM = 56, 4, 12, 28
PAPER, GRID, AXIS, LABEL = "#FFFFFF", "#E2E2DC", "#86898F", "#474B54"
BEFORE, AFTER = "#8A8F99", "#3A48B8"
COLOURS, TICKS = 32, 4
Day = tuple[date, Decimal | None]


def day_bars(days: Sequence[Day], first_after: date) -> bytes:
    """The PNG: days before `first_after` grey, from it on indigo. A day without a cost has no bar."""
    image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), PAPER)
    draw = ImageDraw.Draw(image)
    values = [float(cost) if cost is not None else 0.0 for _day, cost in days]
    low, high, step = axis(min([0.0, *values]), max([0.0, *values]))
    top, bottom = TOP, HEIGHT - BOTTOM

    def y_of(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - top)

    tick = low
    while tick <= high + step / 2:
        y = y_of(tick)
        zero = abs(tick) < step / 1000
        _line(draw, LEFT, y, WIDTH - RIGHT, y, AXIS if zero else GRID)
        _text(draw, LEFT - 8, y, tick_text(tick, step), "rm")
        tick += step
    slot = (WIDTH - RIGHT - LEFT) / max(len(days), 1)
    for i, (day, cost) in enumerate(days):
        x = LEFT + i * slot
        if cost is not None and cost != 0:
            ends = sorted((y_of(0.0), y_of(float(cost))))
            colour = AFTER if day >= first_after else BEFORE
            draw.rectangle(
                [(x + 3) * SCALE, ends[0] * SCALE, (x + slot - 3) * SCALE, ends[1] * SCALE], colour
            )
        _text(draw, x + slot / 2, HEIGHT - BOTTOM / 2 + 2, str(day.day), "mm")
    out = io.BytesIO()
    image.quantize(COLOURS).save(out, "PNG", optimize=True)
    return out.getvalue()


def axis(low: float, high: float) -> tuple[float, float, float]:
    """(lower end, upper end, step) of an axis in round numbers with at most five lines; it holds 0.

    >>> axis(0.0, 183.0)
    (0.0, 200.0, 50.0)
    """
    reach = high - low
    if reach <= 0:
        return 0.0, 1.0, 1.0
    rough = reach / TICKS
    power = 1.0
    while power > rough:
        power /= 10
    while power * 10 <= rough:
        power *= 10
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first = -step * _up(-low / step)
    last = step * _up(high / step)
    return first + 0.0, last, step


def tick_text(value: float, step: float) -> str:
    """`150`, `1.5k`; below a tenth as many decimals as tell two lines apart.

    >>> tick_text(0.0005, 0.0005), tick_text(2500.0, 500.0)
    ('0.0005', '2.5k')
    """
    if step >= 0.1 or step <= 0:
        return fmt.compact(round(value, 6))
    places = 1
    while places < 9 and abs(round(step, places) - step) > step / 100:
        places += 1
    return fmt.number(round(value, places), places)


def _up(value: float) -> int:
    whole = int(value)
    return whole if value - whole < 1e-9 else whole + 1


@lru_cache(maxsize=1)
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(14 * SCALE)


def _text(draw: ImageDraw.ImageDraw, x: float, y: float, text: str, anchor: str) -> None:
    draw.text((x * SCALE, y * SCALE), text.replace(fmt.MINUS, "-"), LABEL, _font(), anchor)


def _line(draw: ImageDraw.ImageDraw, x0: float, y0: float, x1: float, y1: float, colour: str) -> None:
    draw.line([(x0 * SCALE, y0 * SCALE), (x1 * SCALE, y1 * SCALE)], colour, SCALE)
