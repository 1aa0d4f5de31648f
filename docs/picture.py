"""Makes ``docs/report.png``, the README's picture, from the report of the demo: its first screen and its step viewer.

Run it after ``make demo``: ``.venv/bin/python docs/picture.py out/demo/report.html docs/report.png``
"""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

SIZE = {"width": 1440, "height": 900}
#: An item that one of the scripted stand-ins reasons out in order and the other one shuffled.
SHOWN = "#item=12&model=cherry_picker&with=shuffled"
#: Colours of the palette: a drawn page has few, and photographs only a thumbnail's worth.
COLOURS = 128


def main(report: Path, picture: Path) -> None:
    """Takes both screenshots and puts one under the other."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        page.goto(report.resolve().as_uri())
        first = page.screenshot()
        page.goto(report.resolve().as_uri() + SHOWN)
        page.reload()
        page.wait_for_selector(".curve")
        second = page.screenshot()
        browser.close()
    shots = [Image.open(io.BytesIO(shot)).convert("RGB") for shot in (first, second)]
    sheet = Image.new("RGB", (SIZE["width"], 2 * SIZE["height"]))
    for place, shot in enumerate(shots):
        sheet.paste(shot, (0, place * SIZE["height"]))
    sheet.quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
