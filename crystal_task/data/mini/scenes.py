"""The drawn scenes of ``crystal_mini``: streets as in RealWorldQA, and pairs that differ in one thing, as in MMVP."""

from PIL import Image

from .canvas import BLUE, BROWN, GRASS, GREEN, GREY, INK, ORANGE, RED, SKY, WHITE, WOOD, YELLOW, Canvas, Point

ASPHALT, PAVEMENT = "#5b636b", "#c9cdd1"


def _car(canvas: Canvas, x: float, y: float, colour: str) -> None:
    """A car from the side, driving to the right; ``x, y`` is the middle of its floor."""
    canvas.polygon([(x - 40, y - 26), (x - 24, y - 50), (x + 20, y - 50), (x + 40, y - 26)], colour)
    canvas.polygon([(x - 31, y - 27), (x - 20, y - 44), (x - 4, y - 44), (x - 4, y - 27)], SKY)
    canvas.polygon([(x + 2, y - 27), (x + 2, y - 44), (x + 17, y - 44), (x + 30, y - 27)], SKY)
    canvas.box((x - 60, y - 28), (x + 62, y - 4), fill=colour, radius=8)
    canvas.box((x + 55, y - 22), (x + 62, y - 14), fill=YELLOW, radius=2)
    for shift in (-34, 34):
        canvas.disc((x + shift, y - 4), 13, fill=INK)
        canvas.disc((x + shift, y - 4), 6, fill=PAVEMENT)


def zebra_crossing() -> Image.Image:
    """A street with a zebra crossing: the lamp for cars is green, the lamp for walkers is red."""
    canvas = Canvas(480, 340, SKY)
    for left, right, top, colour in ((0, 120, 60, "#e3b48c"), (120, 215, 95, "#b9c4d6"), (330, 480, 40, "#d9a5a0")):
        canvas.box((left, top), (right, 190), fill=colour)
        for x in range(left + 16, right - 22, 34):
            for y in range(top + 16, 160, 40):
                canvas.box((x, y), (x + 16, y + 22), fill="#f5f0dc", outline=GREY, width=1)
    canvas.box((0, 190), (480, 222), fill=PAVEMENT)
    canvas.box((0, 222), (480, 340), fill=ASPHALT)
    for y in range(228, 336, 22):
        canvas.box((252, y), (322, y + 11), fill=WHITE)
    for x in (20, 90, 160, 345, 415):
        canvas.box((x, 279), (x + 36, 284), fill=WHITE)
    _car(canvas, 120, 316, BLUE)
    canvas.box((233, 70), (239, 222), fill=INK)
    canvas.box((222, 40), (250, 110), fill=INK, radius=6)
    for y, colour in ((54, "#5a2a2a"), (75, "#5a4a20"), (96, "#3ddc6a")):
        canvas.disc((236, y), 8, fill=colour)
    canvas.box((333, 110), (339, 222), fill=INK)
    canvas.box((322, 92), (350, 142), fill=INK, radius=6)
    for y, colour in ((106, "#ff4b43"), (129, "#234a30")):
        canvas.disc((336, y), 8, fill=colour)
    _walker(canvas, (290, 190))
    return canvas.picture()


def _walker(canvas: Canvas, at: Point) -> None:
    x, y = at
    canvas.disc((x, y - 40), 9, fill="#e0a878")
    canvas.box((x - 10, y - 30), (x + 10, y + 2), fill=ORANGE, radius=6)
    canvas.line([(x - 5, y), (x - 6, y + 26)], INK, 6)
    canvas.line([(x + 5, y), (x + 6, y + 26)], INK, 6)


def parking_lot() -> Image.Image:
    """A parking lot from above, two rows of five numbered places, seven of them taken."""
    canvas = Canvas(480, 340, ASPHALT)
    taken = {1: RED, 2: WHITE, 4: BLUE, 5: YELLOW, 6: GREEN, 8: WHITE, 9: ORANGE}
    for place in range(1, 11):
        column, lower = (place - 1) % 5, place > 5
        left, top = 40 + 80 * column, 220 if lower else 14
        for x in (left, left + 80):
            canvas.line([(x, top), (x, top + 106)], WHITE, 3)
        canvas.text((left + 40, 205 if lower else 135), str(place), 17, WHITE)
        if place in taken:
            _car_from_above(canvas, (left + 40, top + 53), taken[place])
    for x in range(20, 460, 60):
        canvas.line([(x, 170), (x + 30, 170)], YELLOW, 3)
    return canvas.picture()


def _car_from_above(canvas: Canvas, centre: Point, colour: str) -> None:
    x, y = centre
    canvas.box((x - 24, y - 46), (x + 24, y + 46), fill=colour, outline=INK, radius=13)
    canvas.box((x - 19, y - 22), (x + 19, y - 8), fill=INK, radius=4)
    canvas.box((x - 18, y + 20), (x + 18, y + 31), fill=INK, radius=4)


def distance_sign() -> Image.Image:
    """A road through fields with a blue sign: Elmford 12 km, Harwick 27 km, straight ahead."""
    canvas = Canvas(480, 340, SKY)
    canvas.disc((120, 240), 220, fill="#94bf7c", tall=80)
    canvas.disc((400, 240), 240, fill=GRASS, tall=60)
    canvas.box((0, 226), (480, 340), fill=GRASS)
    canvas.polygon([(196, 226), (214, 226), (330, 340), (30, 340)], ASPHALT)
    for top, bottom, half in ((234, 246, 1.5), (256, 276, 2.5), (292, 324, 4)):
        x = 204 - (bottom - 226) * 0.16
        canvas.polygon([(x - half, bottom), (x + half, bottom), (x + half + 1, top), (x - half + 1, top)], WHITE)
    for x in (310, 440):
        canvas.box((x - 4, 150), (x + 4, 282), fill=GREY)
    canvas.box((284, 50), (468, 168), fill=BLUE, outline=WHITE, width=4, radius=10)
    for y, town, distance in ((84, "Elmford", "12 km"), (134, "Harwick", "27 km")):
        canvas.text((300, y), town, 20, WHITE, "lm")
        canvas.text((454, y), distance, 20, WHITE, "rm")
    return canvas.picture()


def ball_before_box() -> Image.Image:
    """A red ball that hides a part of a wooden box."""
    return _ball_and_box(ball_in_front=True)


def ball_behind_box() -> Image.Image:
    """The same ball, now partly hidden by the box."""
    return _ball_and_box(ball_in_front=False)


def _ball_and_box(ball_in_front: bool) -> Image.Image:
    canvas = Canvas(400, 300, "#efe6d8")
    canvas.box((0, 190), (400, 300), fill="#d8c3a5")
    for part in ("box", "ball") if ball_in_front else ("ball", "box"):
        if part == "box":
            canvas.box((110, 110), (250, 240), fill=WOOD, outline=BROWN, width=4)
            for y in (153, 197):
                canvas.line([(112, y), (248, y)], BROWN, 3)
        else:
            y = 205 if ball_in_front else 170
            canvas.disc((262, y), 52, fill=RED, outline="#8f2a27", width=3)
            canvas.disc((280, y - 20), 11, fill="#f0a3a0", tall=8)
    return canvas.picture()


def lamp_lit() -> Image.Image:
    """A desk with a lamp that is lit: a cone of light falls on an open book."""
    return _desk(lit=True)


def lamp_dark() -> Image.Image:
    """The same desk with the lamp switched off."""
    return _desk(lit=False)


def _desk(lit: bool) -> Image.Image:
    canvas = Canvas(400, 300, "#46506b")
    canvas.box((250, 30), (370, 150), fill="#1d2440", outline=WOOD, width=6)
    canvas.line([(310, 30), (310, 150)], WOOD, 4)
    canvas.disc((340, 65), 14, fill="#f2eccb")
    if lit:
        canvas.polygon([(122, 92), (178, 92), (268, 236), (62, 236)], "#8d8a63")
    canvas.box((0, 236), (400, 300), fill="#7b5534")
    if lit:
        canvas.disc((165, 250), 105, fill="#b98a58", tall=14)
    canvas.polygon([(130, 254), (178, 246), (178, 226), (130, 232)], "#fffbe6" if lit else "#c9c9cf", INK, 1.5)
    canvas.polygon([(226, 254), (178, 246), (178, 226), (226, 232)], "#fffbe6" if lit else "#c9c9cf", INK, 1.5)
    canvas.box((42, 238), (112, 248), fill=INK, radius=4)
    canvas.line([(77, 240), (60, 140), (140, 66)], INK, 6)
    canvas.disc((150, 92), 12, fill="#fff2a8" if lit else "#9aa0ad")
    canvas.polygon([(128, 58), (172, 58), (190, 92), (110, 92)], ORANGE, INK)
    return canvas.picture()
