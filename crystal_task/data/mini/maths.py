"""The puzzles of ``crystal_mini``, in the style of MathVision: geometry, grids, a net, patterns and solids."""

from itertools import pairwise

from PIL import Image

from .canvas import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    RED,
    WHITE,
    WOOD,
    YELLOW,
    Canvas,
    Point,
    polar,
)


def shaded_triangle() -> Image.Image:
    """A rectangle of 12 cm by 8 cm with a shaded triangle on its whole base, its tip on the top side."""
    canvas = Canvas(420, 320)
    left, right, top, bottom = 60, 360, 50, 250
    canvas.polygon([(left, bottom), (right, bottom), (260, top)], "#9cc3ea")
    canvas.polygon([(left, bottom), (right, bottom), (260, top)], outline=BLUE)
    canvas.box((left, top), (right, bottom), outline=INK, width=2.5)
    canvas.text(((left + right) / 2, 278), "12 cm", 18)
    canvas.text((right + 12, (top + bottom) / 2), "8 cm", 18, anchor="lm")
    return canvas.picture()


def clock_four() -> Image.Image:
    """The face of a clock at four o'clock."""
    canvas, centre = Canvas(360, 360), (180, 180)
    canvas.disc(centre, 160, fill="#fdf8ec", outline=INK, width=5)
    for minute in range(60):
        long = minute % 5 == 0
        inner, outer = polar(centre, 140 if long else 147, 6 * minute), polar(centre, 152, 6 * minute)
        canvas.line([inner, outer], INK, 3 if long else 1)
    for hour in range(1, 13):
        canvas.text(polar(centre, 122, 30 * hour), str(hour), 22)
    canvas.line([centre, polar(centre, 75, 120)], INK, 8)
    canvas.line([centre, polar(centre, 100, 0)], BLUE, 5)
    canvas.disc(centre, 8, fill=INK)
    return canvas.picture()


def cube_net() -> Image.Image:
    """The net of a cube, a cross of six coloured squares with their colours' names."""
    canvas, side = Canvas(420, 330), 92
    squares = {
        "red": (1, 0, RED),
        "blue": (0, 1, BLUE),
        "green": (1, 1, GREEN),
        "orange": (2, 1, ORANGE),
        "purple": (3, 1, PURPLE),
        "yellow": (1, 2, YELLOW),
    }
    for name, (column, row, colour) in squares.items():
        x, y = 26 + column * side, 27 + row * side
        canvas.box((x, y), (x + side, y + side), fill=colour, outline=INK, width=2.5)
        canvas.text((x + side / 2, y + side / 2), name, 18, INK if name in ("yellow", "orange") else WHITE)
    return canvas.picture()


def street_grid() -> Image.Image:
    """A street grid, three blocks wide and two blocks high, from A at the bottom left to B at the top right."""
    canvas = Canvas(460, 330, "#eef2ea")
    xs, ys = [70 + 105 * column for column in range(4)], [60 + 100 * row for row in range(3)]
    for left, right in pairwise(xs):
        for top, bottom in pairwise(ys):
            canvas.box((left + 12, top + 12), (right - 12, bottom - 12), fill="#c9d8bd", radius=6)
    for y in ys:
        canvas.line([(xs[0], y), (xs[-1], y)], GREY, 7)
    for x in xs:
        canvas.line([(x, ys[0]), (x, ys[-1])], GREY, 7)
    for name, x, y in (("A", xs[0], ys[-1]), ("B", xs[-1], ys[0])):
        canvas.disc((x, y), 18, fill=RED, outline=WHITE, width=3)
        canvas.text((x, y), name, 20, WHITE)
    canvas.arrow((150, 302), (310, 302), INK, 2.5, 12)
    canvas.arrow((28, 220), (28, 110), INK, 2.5, 12)
    return canvas.picture()


def match_squares() -> Image.Image:
    """Rows of one, two and three squares that are laid with matches, numbered as figures 1 to 3."""
    canvas, side = Canvas(480, 190), 52
    for figure, left in ((1, 30), (2, 130), (3, 282)):
        for square in range(figure + 1):
            _match(canvas, (left + square * side, 118), (left + square * side, 48))
        for square in range(figure):
            x = left + square * side
            _match(canvas, (x + 6, 44), (x + side - 6, 44))
            _match(canvas, (x + 6, 122), (x + side - 6, 122))
        canvas.text((left + figure * side / 2, 160), f"Figure {figure}", 16)
    return canvas.picture()


def _match(canvas: Canvas, start: Point, end: Point) -> None:
    canvas.line([start, end], WOOD, 5)
    canvas.disc(end, 4.5, fill=RED)


def balance() -> Image.Image:
    """Level scales: three balls in the left pan; one ball and a weight of 8 g in the right pan."""
    canvas = Canvas(460, 310, "#f6f3ee")
    canvas.polygon([(230, 92), (206, 270), (254, 270)], GREY)
    canvas.box((160, 266), (300, 284), fill=INK, radius=6)
    canvas.line([(90, 92), (370, 92)], INK, 7)
    canvas.disc((230, 92), 11, fill=ORANGE, outline=INK)
    for x in (90, 370):
        canvas.line([(x - 66, 190), (x, 92), (x + 66, 190)], GREY, 2)
        canvas.box((x - 76, 190), (x + 76, 204), fill=BROWN, radius=7)
    for x in (44, 90, 136):
        canvas.disc((x, 169), 20, fill=BLUE, outline=INK)
    canvas.disc((336, 169), 20, fill=BLUE, outline=INK)
    canvas.polygon([(372, 189), (432, 189), (422, 142), (382, 142)], YELLOW, INK)
    canvas.text((402, 168), "8 g", 18)
    return canvas.picture()


def number_pyramid() -> Image.Image:
    """A pyramid of bricks with 3, 5, 2 and 4 at the bottom, empty bricks above and a question mark at the top."""
    canvas = Canvas(440, 310)
    rows = (("?",), ("", ""), ("", "", ""), ("3", "5", "2", "4"))
    fills = (YELLOW, "#fdf1d0", "#fdf1d0", "#cfe3f5")
    for row, numbers in enumerate(rows):
        left, top = 220 - 49 * len(numbers), 24 + row * 66
        for column, number in enumerate(numbers):
            x = left + 98 * column
            canvas.box((x + 3, top + 3), (x + 95, top + 63), fill=fills[row], outline=INK, radius=6)
            canvas.text((x + 49, top + 33), number, 26)
    return canvas.picture()


def cube_stack() -> Image.Image:
    """Cubes stacked in a corner, 3, 2 and 1 high along each wall, so that every tower's top can be seen."""
    canvas = Canvas(400, 325)
    heights = ((3, 2, 1), (2, 1, 0), (1, 0, 0))
    for row, towers in enumerate(heights):
        for column, height in enumerate(towers):
            for level in range(height):
                _cube(canvas, row, column, level)
    return canvas.picture()


def _cube(canvas: Canvas, row: int, column: int, level: int, edge: float = 62) -> None:
    """A cube of the isometric stack; ``row`` grows to the lower left, ``column`` to the lower right."""
    half, slope = edge * 0.866, edge * 0.5
    x, y = 200 + (column - row) * half, 192 + (column + row) * slope - level * edge
    top = [(x, y - edge), (x + half, y - edge + slope), (x, y - edge + 2 * slope), (x - half, y - edge + slope)]
    left = [top[3], top[2], (x, y + 2 * slope), (x - half, y + slope)]
    right = [top[2], top[1], (x + half, y + slope), (x, y + 2 * slope)]
    for side, colour in ((top, "#f9dc86"), (left, ORANGE), (right, "#c7662a")):
        canvas.polygon(side, colour, INK, 1.5)


def right_triangle() -> Image.Image:
    """A right triangle with legs of 8 cm and 6 cm and an unknown third side."""
    canvas = Canvas(420, 330)
    corner, along, up = (60, 265), (340, 265), (60, 55)
    canvas.polygon([corner, along, up], "#d9f0e0")
    canvas.box((60, 243), (82, 265), outline=INK)
    canvas.polygon([corner, along, up], outline=GREEN, width=4)
    canvas.text((200, 292), "8 cm", 19)
    canvas.text((28, 160), "6 cm", 19)
    canvas.text((222, 140), "?", 26, RED)
    return canvas.picture()


def spinner() -> Image.Image:
    """A wheel of eight equal sectors, three of them red, with an arrow to spin."""
    canvas, centre = Canvas(360, 360), (180, 180)
    colours = (RED, BLUE, YELLOW, RED, GREEN, BLUE, RED, YELLOW)
    for index, colour in enumerate(colours):
        canvas.slice(centre, 155, 45 * index, 45 * (index + 1), colour)
    canvas.disc(centre, 157, outline=INK, width=4)
    canvas.arrow(polar(centre, 60, 202), polar(centre, 120, 22), INK, 8, 28)
    canvas.disc(centre, 14, fill=PALE, outline=INK, width=3)
    return canvas.picture()
