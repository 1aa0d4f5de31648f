"""The charts of ``crystal_mini``, in the style of PlotQA: bars, lines, a pie and dots over a labelled grid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image

from .canvas import BLUE, GREEN, GREY, INK, ORANGE, PALE, PURPLE, RED, WHITE, YELLOW, Canvas, Point, polar

WIDTH, HEIGHT = 480, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 456, 66, 306
"""The plotting area inside a chart, in pixels."""


@dataclass(frozen=True)
class _Axes:
    """A canvas with a title, a grid and a vertical scale from 0 to ``top``, and ``names`` in slots along the bottom."""

    canvas: Canvas
    names: Sequence[str]
    top: float

    def y(self, value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * value / self.top

    def x(self, slot: int) -> float:
        return LEFT + (RIGHT - LEFT) * (slot + 0.5) / len(self.names)

    def at(self, slot: int, value: float) -> Point:
        return self.x(slot), self.y(value)


def _axes(title: str, unit: str, names: Sequence[str], top: int, step: int) -> _Axes:
    canvas = Canvas(WIDTH, HEIGHT)
    axes = _Axes(canvas, names, top)
    canvas.text((WIDTH / 2, 22), title, 19)
    canvas.text((12, 48), unit, 13, GREY, "lm")
    for value in range(0, top + 1, step):
        canvas.line([(LEFT, axes.y(value)), (RIGHT, axes.y(value))], PALE, 1)
        canvas.text((LEFT - 8, axes.y(value)), str(value), 13, anchor="rm")
    canvas.line([(LEFT, BOTTOM), (RIGHT, BOTTOM)], INK, 1.5)
    for slot, name in enumerate(names):
        canvas.text((axes.x(slot), BOTTOM + 16), name, 14)
    return axes


def _legend(canvas: Canvas, entries: Mapping[str, str], start: float = 150, gap: float = 100) -> None:
    for index, (name, colour) in enumerate(entries.items()):
        x = start + index * gap
        canvas.box((x, HEIGHT - 25), (x + 13, HEIGHT - 12), fill=colour, radius=2)
        canvas.text((x + 20, HEIGHT - 18), name, 13, anchor="lm")


def _bars(axes: _Axes, values: Sequence[float], colours: Sequence[str], half: float = 24, shift: float = 0) -> None:
    for slot, value in enumerate(values):
        x, y = axes.at(slot, value)
        axes.canvas.box((x + shift - half, y), (x + shift + half, BOTTOM), fill=colours[slot % len(colours)])


def _curve(axes: _Axes, values: Sequence[float], colour: str) -> None:
    points = [axes.at(slot, value) for slot, value in enumerate(values)]
    axes.canvas.line(points, colour, 3)
    for point in points:
        axes.canvas.disc(point, 5, fill=colour, outline=WHITE, width=1.5)


def fruit_bars() -> Image.Image:
    """One bar each for five kinds of fruit."""
    names = ("Apples", "Pears", "Plums", "Grapes", "Figs")
    axes = _axes("Fruit sold at the market", "Kilograms", names, 100, 20)
    _bars(axes, (80, 50, 60, 95, 30), (RED, GREEN, PURPLE, BLUE, ORANGE))
    return axes.canvas.picture()


def rainfall_bars() -> Image.Image:
    """Grouped bars: rainfall of two towns in three months."""
    axes = _axes("Rainfall in spring", "Millimetres", ("March", "April", "May"), 60, 10)
    _bars(axes, (40, 50, 30), (BLUE,), half=20, shift=-22)
    _bars(axes, (60, 35, 55), (ORANGE,), half=20, shift=22)
    _legend(axes.canvas, {"Lowford": BLUE, "Highmoor": ORANGE})
    return axes.canvas.picture()


def visitor_lines() -> Image.Image:
    """Two lines that cross: visitors of a museum and of a zoo over six years."""
    years = ("2016", "2017", "2018", "2019", "2020", "2021")
    axes = _axes("Visitors of two attractions", "Thousands", years, 80, 10)
    _curve(axes, (30, 35, 50, 45, 60, 70), PURPLE)
    _curve(axes, (40, 45, 40, 55, 50, 60), GREEN)
    _legend(axes.canvas, {"Museum": PURPLE, "Zoo": GREEN})
    return axes.canvas.picture()


def school_pie() -> Image.Image:
    """A pie of the ways in which pupils come to school, with its percentages."""
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.text((WIDTH / 2, 22), "How pupils come to school", 19)
    centre, start = (180.0, 198.0), 0.0
    shares = {
        "Bus": (35, BLUE),
        "On foot": (25, GREEN),
        "Bicycle": (20, ORANGE),
        "Car": (15, RED),
        "Train": (5, PURPLE),
    }
    for index, (name, (share, colour)) in enumerate(shares.items()):
        end = start + 3.6 * share
        canvas.slice(centre, 138, start, end, colour)
        canvas.text(polar(centre, 100, (start + end) / 2), f"{share}%", 15, WHITE)
        canvas.box((362, 120 + 32 * index), (378, 136 + 32 * index), fill=colour, radius=2)
        canvas.text((388, 128 + 32 * index), name, 15, anchor="lm")
        start = end
    return canvas.picture()


def library_bars() -> Image.Image:
    """Bars that lie on their side, one a weekday, each with its number."""
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.text((WIDTH / 2, 22), "Books borrowed from the school library", 19)
    loans = {"Monday": 12, "Tuesday": 18, "Wednesday": 9, "Thursday": 14, "Friday": 21}
    for index, (day, books) in enumerate(loans.items()):
        y = 78 + 58 * index
        canvas.text((112, y), day, 15, anchor="rm")
        canvas.box((122, y - 17), (122 + 14.5 * books, y + 17), fill=BLUE, radius=3)
        canvas.text((130 + 14.5 * books, y), str(books), 15, anchor="lm")
    canvas.line([(122, 50), (122, 338)], INK, 1.5)
    return canvas.picture()


def temperature_line() -> Image.Image:
    """One line: the mean temperature of six months."""
    axes = _axes(
        "Mean temperature in Stonebridge", "Degrees Celsius", ("Jan", "Feb", "Mar", "Apr", "May", "Jun"), 24, 2
    )
    _curve(axes, (2, 4, 8, 12, 18, 21), RED)
    return axes.canvas.picture()


def plant_dots() -> Image.Image:
    """Dots: the height of eight plants, one a pot."""
    axes = _axes("Height of sunflowers after ten weeks", "Centimetres", tuple("12345678"), 80, 10)
    for slot, height in enumerate((35, 62, 45, 28, 70, 43, 57, 40)):
        axes.canvas.dashes((axes.x(slot), BOTTOM), axes.at(slot, height), PALE, 1.5, 4)
        axes.canvas.disc(axes.at(slot, height), 8, fill=ORANGE, outline=INK, width=1.5)
    axes.canvas.text((WIDTH / 2, HEIGHT - 18), "Number of the pot", 13, GREY)
    return axes.canvas.picture()


def energy_stack() -> Image.Image:
    """Stacked bars: energy out of three sources in three years."""
    axes = _axes("Electricity made on Fern Island", "Gigawatt hours", ("2019", "2020", "2021"), 100, 10)
    sources = {"Water": BLUE, "Wind": GREEN, "Sun": YELLOW}
    for slot, parts in enumerate(((30, 20, 10), (30, 30, 20), (20, 40, 30))):
        floor = 0
        for part, colour in zip(parts, sources.values(), strict=True):
            x = axes.x(slot)
            axes.canvas.box((x - 32, axes.y(floor + part)), (x + 32, axes.y(floor)), fill=colour)
            floor += part
    _legend(axes.canvas, sources, start=112)
    return axes.canvas.picture()


def price_bars() -> Image.Image:
    """One bar each for the price of four devices."""
    axes = _axes("Price of devices", "Euros", ("Phone", "Tablet", "Laptop", "Camera"), 800, 100)
    _bars(axes, (300, 450, 750, 600), (GREEN,), half=28)
    return axes.canvas.picture()


def savings_line() -> Image.Image:
    """One line with a single dip: money saved over six months."""
    axes = _axes("Money in Nora's savings box", "Pounds", ("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 50, 5)
    _curve(axes, (10, 20, 25, 20, 35, 45), BLUE)
    return axes.canvas.picture()
