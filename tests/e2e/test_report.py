"""``crystal-eval report`` and its page in a real Chromium, opened from disk as a reader does."""

import csv
import io
import json
from pathlib import Path

import pytest
from harness import run
from lmms_eval_crystal.cli.main import app
from lmms_eval_crystal.reports.figures import registry
from playwright.sync_api import Browser, Page, expect, sync_playwright
from studies import HOSTILE, TALKERS, Talker, write_study
from trainings import write_training

pytestmark = pytest.mark.e2e
CHROMIUM = "/usr/bin/chromium"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 400, "height": 800}
#: The whole benchmark, written as copies of a part of it.
FULL, PART = 6372, 354
#: WCAG AA for text of normal size.
CONTRAST = 4.5


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


class Reader:
    """Opens a report and notes what must not happen: console messages, errors, and requests that leave the page."""

    def __init__(self, browser: Browser, file: Path) -> None:
        self.browser, self.file = browser, file
        self.faults: list[str] = []

    def open(self, address: str = "", **settings) -> Page:
        page = self.browser.new_context(**{"viewport": WIDE, **settings}).new_page()
        page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._request(request.url))
        page.goto(self.file.as_uri() + address)
        return page

    def _request(self, url: str) -> None:
        if not url.startswith((self.file.parent.as_uri(), "data:", "blob:")):
            self.faults.append(f"request: {url}")


def report(folder: Path, *options: str) -> Path:
    """The page of a report made in this process, with two figures: drawing all of them takes longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "FIGURES", registry.FIGURES[2:4])
        app(["report", str(folder / "in"), "-o", str(folder / "out"), *options], standalone_mode=False)
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def hostile(browser, tmp_path_factory):
    """A page whose every text is hostile, the name of a model too; the rest of its items lies beside it."""
    folder = tmp_path_factory.mktemp("hostile")
    talkers = [*TALKERS[:2], Talker("<img src=x onerror=window.__pwned=1>/" + "long" * 30, recall=0.2)]
    write_study(folder / "in", 40, talkers, HOSTILE)
    reader = Reader(browser, report(folder, "--items", "all"))
    yield reader
    assert not reader.faults


@pytest.fixture(scope="module")
def full(browser, tmp_path_factory):
    """A page of 6,372 items and three models, as the command line makes it."""
    folder = tmp_path_factory.mktemp("full")
    write_study(folder / "in", PART, of=FULL)
    for file in (folder / "in").rglob("*_samples_crystal.jsonl"):
        lines = file.read_text("utf-8").splitlines()
        file.write_text(
            "".join(
                line.replace(f'"doc_id": {place},', f'"doc_id": {place + copy * PART},', 1) + "\n"
                for copy in range(FULL // PART)
                for place, line in enumerate(lines)
            )
        )
    for file in (folder / "in").rglob("*_results.json"):
        file.write_text(file.read_text("utf-8").replace(f'"items": {PART}', f'"items": {FULL}'))
    done = run(["crystal-eval", "report", "in", "-o", "out", "--items", "all"], folder)
    assert done.returncode == 0, done.stdout
    assert "leads Match F1 by" in done.stdout
    assert "out/report.html" in done.stdout
    reader = Reader(browser, folder / "out" / "report.html")
    yield reader
    assert not reader.faults


def weak_texts(page: Page) -> list[str]:
    """Elements whose text stands out too little from what is behind it."""
    return page.evaluate(
        """(least) => {
             const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
             const luminance = (colour) => channels(colour).slice(0, 3).map((value) => value / 255)
               .map((value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
               .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
             const behind = (element) => {
               for (let at = element; at; at = at.parentElement) {
                 const colour = getComputedStyle(at).backgroundColor;
                 if ((channels(colour)[3] ?? 1) > 0) return colour;
               }
               return "rgb(255, 255, 255)";
             };
             const weak = new Set();
             for (const element of document.querySelectorAll("body *:not(svg *):not(script)")) {
               const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
               if (!says || !element.checkVisibility()) continue;
               const pair = [luminance(getComputedStyle(element).color), luminance(behind(element))];
               const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
               if (contrast < least) weak.add(`${element.tagName}.${element.className}`);
             }
             return [...weak];
           }""",
        CONTRAST,
    )


def column(page: Page, place: int, part: int = 0) -> list[str]:
    """The exported values of a column of the leaderboard, of the rows that are shown."""
    return page.evaluate(
        """([place, part]) => [...document.querySelectorAll("#table-0 tbody tr")].filter((row) => !row.hidden)
           .map((row) => row.cells[place].dataset.values.split("|")[part])""",
        [place, part],
    )


def item(page: Page) -> str:
    return page.inner_text("[data-part=item] h3")


def test_a_full_run_is_small_enough_and_opens_at_once(full):
    assert full.file.stat().st_size < 15_000_000
    page = full.open()
    opened = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert opened < 3000
    assert "6,372" in page.inner_text(".facts")
    assert page.locator("[data-part=count]").inner_text() == "6,372 of 6,372 items"


def test_an_item_beside_the_page_is_fetched_when_it_is_asked_for(full):
    page = full.open()
    missing = page.evaluate("viewed.board.rows.find((row) => !viewed.board.bodies[row.id]).id")
    page.evaluate(f"location.hash = 'item={missing}&model=org%2FGuesser-8B'")
    page.wait_for_selector(f"h3:text-is('Item {missing}')")
    assert page.locator(".chain .step").count() > 0


def test_the_last_of_many_items_is_reached_by_one_key(full):
    page = full.open()
    page.locator(".row").first.focus()
    page.keyboard.press("End")
    page.wait_for_selector(f"h3:text-is('Item {FULL - 1}')")
    assert page.evaluate("document.activeElement.dataset.item") == str(FULL - 1)


def test_search_is_over_the_steps_of_items_beside_the_page_too(full):
    page = full.open()
    script = (full.file.parent / "items" / "0-060.js").read_text("utf-8")
    doc_id, body = next(iter(json.loads("{" + script.partition(",{")[2].rpartition(",{")[0]).items()))
    assert page.evaluate(f"viewed.board.bodies[{doc_id}] === undefined")
    page.fill("[data-part=search]", body["runs"][0]["response"])
    expect(page.locator("[data-part=count]")).to_have_text(f"{FULL // PART} of 6,372 items")
    assert page.locator(f".row[data-item='{doc_id}']").count() == 1


def test_an_item_that_arrives_after_its_board_was_left_is_not_shown_on_another(browser, tmp_path):
    write_study(tmp_path / "in" / "a", 310, TALKERS[:1])
    write_study(tmp_path / "in" / "b", 310, TALKERS[1:2], encoder="other@1")
    page = (reader := Reader(browser, report(tmp_path, "--items", "all"))).open()
    absent = "viewed.board.rows.find((row) => !viewed.board.bodies[row.id]).id"
    assert page.evaluate(f"choose({absent}), part('item').textContent") == "Loading …"
    shown = page.evaluate("showBoard(1), viewed.item")
    page.wait_for_function("viewed.waiting.size === 0")
    assert item(page) == f"Item {shown}"
    page.evaluate(f"showBoard(0), showBoard(1), choose({absent})")
    page.wait_for_selector(f"h3:text-is('Item {page.evaluate('viewed.item')}')")
    assert page.locator(".verdict h4").inner_text() == page.evaluate("viewed.board.models[0]")
    assert not reader.faults


def test_sorting_follows_the_heading_and_says_so(hostile):
    page = hostile.open()
    accuracy = page.locator("#table-0 .sort", has_text="Accuracy")
    accuracy.click()
    assert column(page, 3) == sorted(column(page, 3), key=float, reverse=True)
    assert accuracy.locator("xpath=ancestor::th").get_attribute("aria-sort") == "descending"
    accuracy.press("Enter")
    assert column(page, 3) == sorted(column(page, 3), key=float)
    page.locator("#table-0 .sort", has_text="Recall").click()
    assert column(page, 4, 1) == sorted(column(page, 4, 1), key=float, reverse=True)
    assert page.locator("#table-0 th[aria-sort]").count() == 1


def test_the_papers_rows_join_the_table_and_are_sorted_with_it(hostile):
    page = hostile.open()
    page.click("[data-paper-rows]")
    assert len(column(page, 0)) == 23
    scores = column(page, 1)
    assert scores == sorted(scores, key=float, reverse=True)
    assert page.is_visible("#table-0-paper-note")
    page.click("[data-paper-rows]")
    assert len(column(page, 0)) == 3


def test_a_table_exports_what_it_shows(hostile):
    page = hostile.open()
    with page.expect_download() as waited:
        page.click("[data-csv=table-0]:not([data-copy])")
    rows = list(csv.DictReader(io.StringIO(Path(waited.value.path()).read_text("utf-8"))))
    assert [row["match_f1"] for row in rows] == column(page, 1)
    assert [row["recall"] for row in rows] == column(page, 4, 1)
    assert {row["model"].lstrip("'") for row in rows} == set(column(page, 0))


def test_filters_and_search_narrow_the_list(hostile):
    page = hostile.open()
    page.select_option("[data-part=source]", "plotqa")
    assert page.locator("[data-part=count]").inner_text() == "8 of 40 items"
    page.select_option("[data-part=verdict]", "wrong")
    assert page.locator("[data-part=list] .row").count() == len(page.query_selector_all(".row-verdict:has-text('✗')"))
    page.select_option("[data-part=source]", "*")
    page.select_option("[data-part=verdict]", "*")
    page.fill("[data-part=search]", "</SCRIPT>")
    expect(page.locator("[data-part=count]")).not_to_have_text("40 of 40 items")
    assert 0 < page.locator("[data-part=list] .row").count() < 40
    page.fill("[data-part=search]", "no such words")
    page.wait_for_selector("text=No item passes these filters.")


def test_steps_matches_and_order_faults_are_drawn_as_the_record_has_them(hostile):
    page = hostile.open()
    drawn = page.evaluate(
        """() => viewed.board.rows.slice(0, 20).map((row) => {
             choose(row.id);
             const count = (query) => viewer.querySelectorAll(query).length;
             return {
               pairs: viewed.board.bodies[row.id].runs[0].pairs,
               steps: viewed.board.bodies[row.id].runs[0].steps.length,
               curves: count(".curve"), faults: count(".curve.disordered"), marked: count(".chain .disordered"),
               unmatched: count(".chain .unmatched"),
               labels: [...viewer.querySelectorAll(".canal text")].map((label) => Number(label.textContent)),
             };
           })"""
    )
    for one in drawn:
        assert one["curves"] == len(one["pairs"])
        assert one["faults"] == one["marked"] == sum(not pair[3] for pair in one["pairs"])
        assert one["unmatched"] == one["steps"] - len(one["pairs"])
        assert one["labels"] == pytest.approx([pair[2] for pair in one["pairs"]], abs=0.0051)
    assert any(one["faults"] for one in drawn)


def test_a_curve_ends_at_its_steps(hostile):
    page = hostile.open("#item=2&model=org%2FReasoner-7B")
    ends = page.evaluate(
        """() => {
             const top = viewer.querySelector(".canal").getBoundingClientRect().top;
             const inside = (column, index, y) => {
               const box = viewer.querySelector(`${column} [data-step="${index}"]`).getBoundingClientRect();
               return box.top <= y + top && y + top <= box.bottom;
             };
             return viewed.board.bodies[viewed.item].runs[chosenModel()].pairs.map(([predicted, reference], place) => {
               const curve = viewer.querySelectorAll(".curve")[place].getAttribute("d").match(/[\\d.]+/g).map(Number);
               return inside(".chain", predicted, curve[1]) && inside(".reference", reference, curve.at(-1));
             });
           }"""
    )
    assert ends
    assert all(ends)


def test_two_models_are_compared_on_the_same_item(hostile):
    page = hostile.open("#item=3&model=org%2FReasoner-7B&with=org%2FGuesser-8B")
    assert item(page) == "Item 3"
    assert page.locator(".chains.five .chain").count() == 2
    assert page.locator(".verdict").count() == 2
    page.set_viewport_size(NARROW)
    page.wait_for_selector(".chains.three")
    assert page.locator(".chains.three").count() == 2


def test_keys_step_through_the_items_and_the_address_leads_back(hostile):
    page = hostile.open()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert item(page) == "Item 1"
    address = page.evaluate("location.hash")
    page.locator(".row[aria-current]").focus()
    page.keyboard.press("ArrowDown")
    assert item(page) == "Item 2"
    assert page.evaluate("document.activeElement.dataset.item") == "2"
    assert item(hostile.open(address)) == "Item 1"


def test_the_list_scrolls_to_the_item_that_an_address_names(hostile):
    page = hostile.open("#item=30&model=org%2FReasoner-7B")
    row = page.locator(".row[aria-current]").bounding_box()
    area = page.locator(".list").bounding_box()
    assert area["y"] <= row["y"]
    assert row["y"] + row["height"] <= area["y"] + area["height"] + 1


def test_examples_of_a_diagnosis_lead_to_the_viewer(hostile):
    page = hostile.open()
    link = page.locator("#diagnosis a").first
    link.click()
    page.wait_for_selector(f"h3:text-is('Item {link.inner_text().lstrip('#')}')")


def test_hostile_text_is_text(hostile):
    page = hostile.open()
    seen = page.evaluate(
        """() => {
             const texts = [];
             for (const row of viewed.board.rows) {
               choose(row.id);
               viewer.querySelectorAll("details").forEach((details) => { details.open = true; });
               texts.push(viewer.textContent);
             }
             return texts.join("\\n");
           }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.__pwned") is None
    assert page.locator("img:not(.picture), #steps a, #steps script").count() == 0
    for text in HOSTILE:
        assert text[:60] in seen


def test_a_step_of_100_kb_is_cut_and_can_be_shown_whole(hostile):
    page = hostile.open()
    found = page.evaluate(
        """() => viewed.board.rows.find(({ id }) =>
             viewed.board.bodies[id].runs[0].steps.some((step) => step.length > 90000)).id"""
    )
    page.evaluate(f"choose({found})")
    step = page.locator(".chain .step", has=page.locator("button")).first.element_handle()
    assert len(step.inner_text()) < 1000
    step.query_selector("button").click()
    assert len(step.inner_text()) > 90_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen_and_text_stands_out(hostile, scheme):
    page = hostile.open(color_scheme=scheme)
    for viewport in (WIDE, NARROW):
        page.set_viewport_size(viewport)
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), viewport
    assert not weak_texts(page)


def test_the_reader_can_choose_the_colours(hostile):
    page = hostile.open(color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.click("#theme")
    page.click("#theme")
    assert page.inner_text("#theme") == "Colours: dark"
    assert page.evaluate(background) != light
    page.emulate_media(media="print")
    assert page.evaluate(background) == light


def test_the_first_screen_answers_without_scrolling(full):
    page = full.open()
    for query in (".headline", ".facts", "#table-0", ".slopes", ".stack >> nth=2", ".flags"):
        box = page.locator(query).bounding_box()
        assert box["y"] + box["height"] <= WIDE["height"], query


def test_each_part_is_reached_by_tab_and_focus_is_seen(hostile):
    page = hostile.open()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.className || document.activeElement.dataset.part || document.activeElement.id"
            )
        )
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert {"skip", "sort", "scroll"} <= reached


def test_a_page_for_the_public_has_no_texts(browser, tmp_path):
    write_study(tmp_path / "in", 12, TALKERS[:2])
    reader = Reader(browser, report(tmp_path, "--public"))
    [samples] = (tmp_path / "in" / "org__Reasoner-7B").glob("*_samples_*")
    sample = json.loads(samples.read_text("utf-8").splitlines()[0])
    page = reader.open("#item=0&model=org%2FReasoner-7B")
    assert sample["crystal"]["question"] not in page.content()
    assert page.locator(".chain .step").count() == len(sample["crystal"]["predicted_steps"])
    assert not reader.faults


@pytest.fixture(scope="module")
def trained(browser, tmp_path_factory):
    """A page about several trainings, one of which broke off, with hostile names."""
    folder = tmp_path_factory.mktemp("trained")
    for seed in (1, 2):
        write_training(folder / "in" / f"cpr-{seed}", "cpr-curriculum", seed, items=30, model=HOSTILE[0] + "/VL")
    write_training(folder / "in" / HOSTILE[3], "cpr", nan_at=50, results=False)
    reader = Reader(browser, report(folder))
    yield reader
    assert not reader.faults


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_section_on_trainings_fits_the_screen_and_can_be_read(trained, scheme):
    page = trained.open(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('.training details').forEach((part) => { part.open = true; })")
    for viewport in (WIDE, NARROW):
        page.set_viewport_size(viewport)
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), viewport
    assert not weak_texts(page)
    assert page.evaluate("window.__pwned") is None
    assert page.locator(".training figure svg").count() == 4


def test_the_table_of_methods_is_exported_with_seeds_and_intervals(trained):
    page = trained.open()
    with page.expect_download() as waited:
        page.click("[data-csv=training-methods]:not([data-copy])")
    rows = list(csv.DictReader(io.StringIO(Path(waited.value.path()).read_text("utf-8"))))
    by_name = {row["Method"]: row for row in rows}
    assert {"seed 1", "seed 2"} <= by_name.keys()
    mean = next(row for name, row in by_name.items() if name.startswith("cpr-curriculum"))
    low, high = map(float, mean["Match F1: 95 % interval"].strip("[]").split(", "))
    assert low < float(mean["Match F1"]) < high
