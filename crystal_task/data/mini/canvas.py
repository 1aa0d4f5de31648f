"""The canvas that every drawing of ``crystal_mini`` is made on: a few shapes and a text, with smooth edges.

Coordinates are in pixels of the finished picture, x to the right and y down. The canvas itself is larger and is
reduced at the end, which smooths the edges that Pillow draws hard.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import atan2, cos, dist, pi, sin

from PIL import Image, ImageDraw, ImageFont

SUPERSAMPLING = 3
"""Canvas pixels per picture pixel and direction; with 3 the edges look smooth and a drawing takes milliseconds."""

INK, GREY, PALE, WHITE = "#22303c", "#8a949e", "#dfe4e8", "#ffffff"
RED, ORANGE, YELLOW, GREEN, BLUE, PURPLE = "#d64541", "#f0883e", "#f7ca4d", "#3a9d5d", "#2f74c0", "#8459b3"
BROWN, SKY, GRASS, WOOD = "#7a4f2b", "#cfe8f7", "#a9d18e", "#c99b66"

Point = tuple[float, float]
Points = Sequence[Point]


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    # The font inside Pillow: no font of the machine can change a picture.
    return ImageFont.load_default(size)


def polar(centre: Point, radius: float, degrees: float) -> Point:
    """The point ``radius`` away from ``centre``, at ``degrees`` clockwise from the top, as on a clock face.

    >>> x, y = polar((10, 10), 5, 90)
    >>> round(x), round(y)
    (15, 10)
    """
    angle = degrees * pi / 180
    return centre[0] + radius * sin(angle), centre[1] - radius * cos(angle)


class Canvas:
    """A picture in the making; ``picture()`` hands it out.

    >>> canvas = Canvas(40, 30)
    >>> canvas.box((5, 5), (35, 25), fill=BLUE)
    >>> canvas.picture().size
    (40, 30)
    """

    def __init__(self, width: int, height: int, ground: str = WHITE) -> None:
        self.width, self.height = width, height
        self._image = Image.new("RGB", (width * SUPERSAMPLING, height * SUPERSAMPLING), ground)
        self._draw = ImageDraw.Draw(self._image)

    def picture(self) -> Image.Image:
        """The finished RGB picture of the size that was asked for."""
        return self._image.reduce(SUPERSAMPLING)

    def line(self, points: Points, colour: str = INK, width: float = 2) -> None:
        """A line through all ``points``, with rounded joints and ends."""
        scaled = [self._scaled(point) for point in points]
        thick = round(width * SUPERSAMPLING)
        self._draw.line(scaled, fill=colour, width=thick, joint="curve")
        for point in (points[0], points[-1]):
            self.disc(point, width / 2, fill=colour)

    def dashes(self, start: Point, end: Point, colour: str = GREY, width: float = 1.5, dash: float = 6) -> None:
        """A dashed line from ``start`` to ``end``; dashes and gaps are ``dash`` pixels long."""
        length = dist(start, end)
        for index in range(int(length // dash) + 1):
            if index % 2 == 0:
                near, far = index * dash / length, min(1.0, (index + 1) * dash / length)
                self.line([_between(start, end, near), _between(start, end, far)], colour, width)

    def arrow(self, start: Point, end: Point, colour: str = INK, width: float = 2, head: float = 10) -> None:
        """A line with a filled head of ``head`` pixels whose tip is at ``end``."""
        angle = atan2(end[1] - start[1], end[0] - start[0])
        base = (end[0] - head * cos(angle), end[1] - head * sin(angle))
        across = (head * 0.5 * sin(angle), -head * 0.5 * cos(angle))
        self.line([start, base], colour, width)
        self.polygon(
            [end, (base[0] + across[0], base[1] + across[1]), (base[0] - across[0], base[1] - across[1])], colour
        )

    def box(
        self,
        corner: Point,
        opposite: Point,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 2,
        radius: float = 0,
    ) -> None:
        """A rectangle from its top left ``corner`` to its bottom right, with round corners where ``radius`` is set."""
        self._draw.rounded_rectangle(
            (self._scaled(corner), self._scaled(opposite)),
            round(radius * SUPERSAMPLING),
            fill,
            outline,
            round(width * SUPERSAMPLING),
        )

    def disc(
        self,
        centre: Point,
        radius: float,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 2,
        tall: float | None = None,
    ) -> None:
        """A circle, or an ellipse whose vertical radius is ``tall``."""
        self._draw.ellipse(self._around(centre, radius, tall), fill, outline, round(width * SUPERSAMPLING))

    def arc(self, centre: Point, radius: float, start: float, end: float, colour: str = INK, width: float = 2) -> None:
        """A part of a circle's line, ``start`` to ``end`` in degrees clockwise from the top."""
        bounds = self._around(centre, radius)
        self._draw.arc(bounds, start - 90, end - 90, colour, round(width * SUPERSAMPLING))

    def slice(self, centre: Point, radius: float, start: float, end: float, fill: str) -> None:
        """A slice of a pie with a white rim, ``start`` to ``end`` in degrees clockwise from the top."""
        bounds = self._around(centre, radius)
        self._draw.pieslice(bounds, start - 90, end - 90, fill, WHITE, 2 * SUPERSAMPLING)

    def polygon(self, points: Points, fill: str | None = None, outline: str | None = None, width: float = 2) -> None:
        """A closed shape with the given corners."""
        if fill:
            self._draw.polygon([self._scaled(point) for point in points], fill)
        if outline:
            self.line([*points, points[0]], outline, width)

    def text(self, at: Point, words: str, size: float = 15, colour: str = INK, anchor: str = "mm") -> None:
        """``words`` at a point; ``anchor`` is Pillow's: ``mm`` centred, ``lm`` begins there, ``rm`` ends there."""
        self._draw.text(self._scaled(at), words, colour, _font(round(size * SUPERSAMPLING)), anchor)

    @staticmethod
    def _scaled(point: Point) -> tuple[float, float]:
        return point[0] * SUPERSAMPLING, point[1] * SUPERSAMPLING

    def _around(self, centre: Point, radius: float, tall: float | None = None) -> tuple[Point, Point]:
        high = radius if tall is None else tall
        return (
            self._scaled((centre[0] - radius, centre[1] - high)),
            self._scaled((centre[0] + radius, centre[1] + high)),
        )


def _between(start: Point, end: Point, share: float) -> Point:
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
