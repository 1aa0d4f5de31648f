"""The school science drawings of ``crystal_mini``, in the style of ScienceQA: webs, circuits, beakers, a map."""

from math import dist
from random import Random

from PIL import Image

from .canvas import (
    BLUE,
    BROWN,
    GRASS,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    RED,
    SKY,
    WHITE,
    YELLOW,
    Canvas,
    Point,
    polar,
)

SEED = 42
"""Where the scattered particles lie; any other seed is as good, but makes another picture."""


def pond_web() -> Image.Image:
    """The food web of a pond; each arrow runs from the food to the animal that eats it."""
    canvas = Canvas(480, 400, "#eaf5f7")
    places: dict[str, tuple[Point, str]] = {
        "Algae": ((240, 350), GREEN),
        "Snail": ((110, 250), BROWN),
        "Tadpole": ((360, 250), BROWN),
        "Perch": ((110, 140), BLUE),
        "Newt": ((360, 140), BLUE),
        "Heron": ((240, 44), PURPLE),
    }
    eaten_by = (
        ("Algae", "Snail"),
        ("Algae", "Tadpole"),
        ("Snail", "Perch"),
        ("Tadpole", "Perch"),
        ("Tadpole", "Newt"),
        ("Perch", "Heron"),
        ("Newt", "Heron"),
    )
    for food, eater in eaten_by:
        (x0, y0), (x1, y1) = places[food][0], places[eater][0]
        # Arrows end at the rim of the box, which is twice as wide as it is high.
        reach = min(60 / (abs(x1 - x0) or 1), 26 / (abs(y1 - y0) or 1))
        start, end = (x0 + (x1 - x0) * reach, y0 + (y1 - y0) * reach), (x1 - (x1 - x0) * reach, y1 - (y1 - y0) * reach)
        canvas.arrow(start, end, INK, 2.5, 12)
    for name, ((x, y), colour) in places.items():
        canvas.box((x - 54, y - 21), (x + 54, y + 21), fill=colour, radius=14)
        canvas.text((x, y), name, 18, WHITE)
    canvas.text((470, 386), "arrow = is eaten by", 13, GREY, "rm")
    return canvas.picture()


def _battery(canvas: Canvas, x: float, y: float) -> None:
    canvas.box((x - 45, y - 19), (x + 30, y + 19), fill=INK, radius=4)
    canvas.box((x + 30, y - 19), (x + 48, y + 19), fill=ORANGE, radius=4)
    canvas.box((x + 48, y - 8), (x + 54, y + 8), fill=GREY)
    canvas.text((x - 33, y), "-", 24, WHITE)
    canvas.text((x + 39, y), "+", 18, WHITE)


def _lamp(canvas: Canvas, x: float, y: float, whole: bool = True) -> None:
    canvas.disc((x, y), 27, fill="#fffbe8", outline=INK, width=2.5)
    canvas.line([(x - 27, y), (x - 12, y), (x - 6, y - 13)], ORANGE, 2.5)
    canvas.line([(x + 6, y - 13), (x + 12, y), (x + 27, y)], ORANGE, 2.5)
    if whole:
        canvas.line([(x - 6, y - 13), (x + 6, y - 13)], ORANGE, 2.5)


def open_circuit() -> Image.Image:
    """One battery, one lamp and a switch that stands open, in a single loop."""
    canvas = Canvas(440, 300)
    canvas.line([(185, 250), (70, 250), (70, 70), (150, 70)], INK, 3)
    canvas.line([(230, 70), (370, 70), (370, 133)], INK, 3)
    canvas.line([(370, 187), (370, 250), (270, 250)], INK, 3)
    _battery(canvas, 220, 250)
    canvas.line([(150, 70), (214, 28)], RED, 5)
    for x in (150, 230):
        canvas.disc((x, 70), 6, fill=WHITE, outline=INK, width=2.5)
    canvas.line([(370, 133), (370, 187)], INK, 3)
    _lamp(canvas, 370, 160)
    for (x, y), name in (((190, 96), "switch"), ((220, 284), "battery"), ((320, 160), "lamp")):
        canvas.text((x, y), name, 15, GREY)
    return canvas.picture()


def parallel_lamps() -> Image.Image:
    """A battery with two lamps on branches of their own; the wire inside lamp 1 is broken."""
    canvas = Canvas(440, 330)
    canvas.line([(185, 280), (60, 280), (60, 70), (193, 70)], INK, 3)
    canvas.line([(247, 70), (380, 70), (380, 280), (270, 280)], INK, 3)
    canvas.line([(60, 170), (193, 170)], INK, 3)
    canvas.line([(247, 170), (380, 170)], INK, 3)
    for x, y in ((60, 170), (380, 170)):
        canvas.disc((x, y), 5, fill=INK)
    _battery(canvas, 220, 280)
    _lamp(canvas, 220, 70, whole=False)
    _lamp(canvas, 220, 170)
    canvas.text((220, 112), "lamp 1", 15, GREY)
    canvas.text((220, 212), "lamp 2", 15, GREY)
    return canvas.picture()


def magnet_pair() -> Image.Image:
    """Two bar magnets in a row whose south poles face each other."""
    canvas = Canvas(480, 190)
    for left, poles in ((30, "NS"), (265, "SN")):
        for index, pole in enumerate(poles):
            x = left + 92 * index
            canvas.box((x, 60), (x + 92, 126), fill=RED if pole == "N" else BLUE, outline=INK)
            canvas.text((x + 46, 93), pole, 30, WHITE)
    canvas.text((122, 155), "magnet 1", 15, GREY)
    canvas.text((357, 155), "magnet 2", 15, GREY)
    return canvas.picture()


def island_map() -> Image.Image:
    """An island with four villages; the compass rose's north points to the right."""
    canvas = Canvas(480, 360, "#bfe0f2")
    shore = [(60, 190), (95, 110), (165, 60), (250, 78), (320, 48), (405, 95), (440, 180), (400, 260), (300, 300)]
    shore += [(210, 278), (130, 300), (80, 255)]
    canvas.polygon(shore, GRASS, "#e8d9a8", 7)
    canvas.line([(95, 210), (190, 180), (290, 225), (385, 165)], "#f3ead0", 6)
    for name, x, y in (("Dunmore", 135, 125), ("Pinewell", 250, 112), ("Saltby", 270, 266), ("Crowhill", 390, 165)):
        canvas.disc((x, y), 8, fill=RED, outline=WHITE)
        canvas.text((x, y - 20), name, 16)
    centre = (60.0, 310.0)
    canvas.disc(centre, 34, fill=WHITE, outline=INK)
    for name, angle, colour in (("N", 90, RED), ("E", 180, INK), ("S", 270, INK), ("W", 0, INK)):
        canvas.polygon([polar(centre, 19, angle), polar(centre, 6, angle + 90), polar(centre, 6, angle - 90)], colour)
        canvas.text(polar(centre, 26, angle), name, 12, colour)
    return canvas.picture()


def butterfly_cycle() -> Image.Image:
    """The life of a butterfly as a ring of four stages, clockwise from the egg."""
    canvas, centre = Canvas(440, 440), (220.0, 215.0)
    canvas.disc(centre, 62, fill="#f3f9ee")
    canvas.text((220, 205), "Life of a", 17, GREEN)
    canvas.text((220, 228), "butterfly", 17, GREEN)
    for start in (22, 112, 202, 292):
        canvas.arc(centre, 145, start + 14, start + 31, GREEN, 4)
        canvas.arrow(polar(centre, 145, start + 30), polar(centre, 144, start + 38), GREEN, 4, 15)
    places = {"Egg": (220, 70), "Caterpillar": (365, 215), "Pupa": (220, 360), "Adult": (75, 215)}
    for name, (x, y) in places.items():
        canvas.disc((x, y), 46, fill=WHITE, outline=PALE, width=3)
        canvas.text((x, y + 59), name, 17)
    x, y = places["Egg"]
    canvas.polygon([(x - 34, y + 10), (x, y - 8), (x + 36, y + 4), (x, y + 22)], GRASS)
    for shift in (-9, 4, 15):
        canvas.disc((x + shift, y + 3 - shift / 8), 5, fill="#fff3c4", outline=BROWN, width=1.5, tall=7)
    x, y = places["Caterpillar"]
    for index, lift in enumerate((4, -4, -8, -4, 3)):
        canvas.disc((x - 24 + 12 * index, y + lift), 10, fill=YELLOW if index % 2 else GREEN, outline=INK, width=1.5)
    canvas.disc((x + 27, y), 2, fill=INK)
    x, y = places["Pupa"]
    canvas.line([(x - 30, y - 30), (x + 30, y - 34)], BROWN, 5)
    canvas.disc((x, y + 1), 12, fill="#b7c77a", outline=BROWN, tall=30)
    for drop in (-9, 3, 14):
        canvas.line([(x - 10, y + drop), (x + 10, y + drop + 2)], BROWN, 1.5)
    x, y = places["Adult"]
    for side in (-1, 1):
        canvas.disc((x + 17 * side, y - 9), 16, fill=ORANGE, outline=INK, tall=18)
        canvas.disc((x + 14 * side, y + 15), 12, fill=YELLOW, outline=INK, tall=12)
        canvas.line([(x, y - 18), (x + 9 * side, y - 34)], INK, 1.5)
    canvas.disc((x, y), 4, fill=INK, tall=22)
    return canvas.picture()


def two_beakers() -> Image.Image:
    """Two beakers of equal size and filling with four particles in A and nine in B."""
    canvas, random = Canvas(460, 320), Random(SEED)
    for name, left, count in (("A", 50, 4), ("B", 260, 9)):
        right, level, floor = left + 150, 110, 260
        canvas.box((left, level), (right, floor), fill=SKY)
        canvas.line([(left, level), (right, level)], BLUE, 2)
        for centre in _scattered(random, count, (left + 18, level + 18), (right - 18, floor - 18), 32):
            canvas.disc(centre, 10, fill=GREEN, outline=INK, width=1.5)
        canvas.line([(left - 8, 58), (left, 64), (left, floor), (right, floor), (right, 64), (right + 8, 58)], INK, 4)
        canvas.text(((left + right) / 2, 285), f"Solution {name}", 17)
        canvas.text(((left + right) / 2, 306), "water: 200 mL", 13, GREY)
    canvas.disc((176, 28), 8, fill=GREEN, outline=INK, width=1.5)
    canvas.text((192, 28), "= dissolved particle", 14, anchor="lm")
    return canvas.picture()


def _scattered(random: Random, count: int, low: Point, high: Point, apart: float) -> list[Point]:
    """``count`` random points between two corners, no two closer than ``apart`` pixels."""
    points: list[Point] = []
    while len(points) < count:
        point = (random.uniform(low[0], high[0]), random.uniform(low[1], high[1]))
        if all(dist(point, other) >= apart for other in points):
            points.append(point)
    return points


def thermometers() -> Image.Image:
    """Two thermometers with a scale from 0 to 50 degrees: 15 in the shade, 35 in the sun."""
    canvas = Canvas(400, 380)
    for name, x, degrees in (("in the shade", 120, 15), ("in the sun", 290, 35)):
        canvas.box((x - 14, 30), (x + 14, 306), fill=WHITE, outline=INK, width=2.5, radius=14)
        canvas.disc((x, 312), 25, fill=RED, outline=INK, width=2.5)
        canvas.line([(x, 306), (x, 280 - 4.6 * degrees)], RED, 11)
        for value in range(0, 51, 5):
            y, long = 280 - 4.6 * value, value % 10 == 0
            canvas.line([(x + 17, y), (x + (30 if long else 24), y)], INK, 2 if long else 1.2)
            if long:
                canvas.text((x + 36, y), str(value), 14, anchor="lm")
        canvas.text((x - 22, 40), "°C", 14, GREY, "rm")
        canvas.text((x, 358), name, 17)
    return canvas.picture()


def punnett_square() -> Image.Image:
    """A Punnett square of two rabbits with the genes Bb; a key names the colours of their young."""
    canvas, side = Canvas(420, 380), 100
    left, top = 110, 70
    for index, gene in enumerate("Bb"):
        canvas.text((left + side * (index + 0.5), top - 20), gene, 26, BLUE)
        canvas.text((left - 22, top + side * (index + 0.5)), gene, 26, RED)
    for row in range(2):
        for column in range(2):
            x, y = left + side * column, top + side * row
            canvas.box((x, y), (x + side, y + side), fill="#fbf4e4", outline=INK, width=2.5)
            canvas.text((x + side / 2, y + side / 2), "".join(sorted("Bb"[row] + "Bb"[column])), 28)
    canvas.text((left + side, 20), "genes of the mother", 15, BLUE)
    canvas.text((12, top + side), "father", 15, RED, "lm")
    for y, genes, colour, fill in ((305, "BB or Bb", "black fur", INK), (340, "bb", "white fur", WHITE)):
        canvas.box((110, y - 11), (132, y + 11), fill=fill, outline=INK, radius=4)
        canvas.text((144, y), f"{genes}: {colour}", 16, anchor="lm")
    return canvas.picture()
