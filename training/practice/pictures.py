"""Pictures to practise on: coloured shapes in a grid of three by three, small enough for a model on one core."""

import random
from dataclasses import dataclass

from PIL import Image, ImageDraw

#: Words for the colours with their RGB values, far enough apart for a model of a few layers.
COLOURS = {"red": (214, 39, 40), "green": (44, 160, 44), "blue": (31, 119, 180), "yellow": (240, 220, 60)}
#: Shapes that leave different parts of a cell free, which a vision tower of two layers learns to tell quickly.
SHAPES = ("square", "ring", "bar")
PLACES = tuple(f"{row} {column}" for row in ("top", "middle", "bottom") for column in ("left", "centre", "right"))
#: Pixels of a cell's side: what Qwen2.5-VL merges into one token (two patches of 14), so that a cell is a token.
CELL = 28
GRID = 3
#: Pixels between a shape and the border of its cell.
MARGIN = 4
#: A picture with fewer things has a reference chain of less than three steps, one with more takes too long to describe.
FEWEST, MOST = 2, 7
BACKGROUND, FRAME_COLOUR = (150, 150, 150), (0, 0, 0)
#: Pixels of the frame around the picture, of a ring and of half a bar. The frame shows where in the picture a
#: cell lies: a vision tower without learned positions could not tell from the cell alone.
FRAME, RING, BAR = 3, 4, 3


@dataclass(frozen=True)
class Thing:
    """A coloured shape; ``cell`` counts from the top left in reading order, 0 to 8."""

    colour: str
    shape: str
    cell: int

    @property
    def name(self) -> str:
        return f"{self.colour} {self.shape}"

    @property
    def place(self) -> str:
        return PLACES[self.cell]


Scene = tuple[Thing, ...]


def draw_scene(chance: random.Random) -> Scene:
    """Two to seven things in different cells, in reading order."""
    cells = sorted(chance.sample(range(GRID * GRID), chance.randint(FEWEST, MOST)))
    return tuple(Thing(chance.choice(list(COLOURS)), chance.choice(SHAPES), cell) for cell in cells)


def paint(scene: Scene) -> Image.Image:
    """The picture of a scene, 84 by 84 pixels."""
    side = GRID * CELL
    picture = Image.new("RGB", (side, side), BACKGROUND)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, side - 1, side - 1), outline=FRAME_COLOUR, width=FRAME)
    for thing in scene:
        _paint_thing(pen, thing)
    return picture


def _paint_thing(pen: ImageDraw.ImageDraw, thing: Thing) -> None:
    row, column = divmod(thing.cell, GRID)
    left, top = column * CELL + MARGIN, row * CELL + MARGIN
    right, bottom = left + CELL - 2 * MARGIN - 1, top + CELL - 2 * MARGIN - 1
    colour = COLOURS[thing.colour]
    if thing.shape == "square":
        pen.rectangle((left, top, right, bottom), fill=colour)
    elif thing.shape == "ring":
        pen.ellipse((left, top, right, bottom), outline=colour, width=RING)
    else:
        middle = (top + bottom) // 2
        pen.rectangle((left, middle - BAR, right, middle + BAR), fill=colour)
