"""A page, opened from the disk in Chromium: what a reader does, and that nothing complains."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import linalg_ext as lx
from browser import browser, complaints, opened
from long_modules import chain
from searched import searched_sums

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.xdist_group("browser")


def layer(x: Any, w: Any, b: Any) -> Any:
    product = x @ w
    return lx.ops.relu(product + b)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    x, w, b = (np.ones(shape, np.float32) for shape in ((64, 96), (96, 80), (80,)))
    kernel = lx.jit(layer).lower(x, w, b).compile()
    file = tmp_path_factory.mktemp("page") / "layer.html"
    return lx.explain.page(kernel, measured=lx.explain.measure(kernel, seconds=0.0)).write(file)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chrome]:
    with browser() as driver:
        yield driver


@pytest.fixture
def reader(chromium: Chrome, page: Path) -> Iterator[Chrome]:
    """A browser that has just opened the page, and has nothing to complain of at the end."""
    opened(chromium, page)
    chromium.refresh()  # an address that differs after the # alone loads nothing anew
    yield chromium
    assert complaints(chromium) == []


def one(driver: Chrome, selector: str) -> Any:
    return driver.find_element("css selector", selector)


def keys(driver: Chrome, text: str) -> None:
    driver.switch_to.active_element.send_keys(text)


def rows(driver: Chrome, pane: int, kind: str = "row") -> list[str]:
    """The rows in sight of the left pane, 1, or the right one, 2."""
    found = driver.find_elements("css selector", f"#stage-view .pane:nth-child({pane}) .{kind}")
    return [str(each.text) for each in found]


def stage(driver: Chrome, name: str) -> None:
    keys(driver, "s")
    buttons = driver.find_elements("css selector", "#stage-tabs button")
    next(button for button in buttons if button.text.split()[0] == name).click()


def test_it_opens_with_plans_times_and_loops(reader: Chrome) -> None:
    overview = one(reader, "#overview").text
    assert "contraction @linalg_ext_contraction_0" in overview
    assert "measured" in overview
    assert "for 0 to" in one(reader, "#overview .nest .nest").text
    assert not one(reader, "#stages").is_displayed()


def test_a_stage_is_chosen_and_its_diff_shows(reader: Chrome) -> None:
    stage(reader, "linalg")
    assert reader.current_url.endswith("#stages/linalg")
    assert any("func.func private @lx.layer" in row for row in rows(reader, 1, "old"))
    assert any("linalg.generic" in row for row in rows(reader, 2, "new"))
    one(reader, "#beside").click()
    assert rows(reader, 1) == [""] * len(rows(reader, 1))  # it is there, and not shown
    assert rows(reader, 2, "new") == []


def test_changes_alone_leave_out_what_did_not_change(reader: Chrome) -> None:
    stage(reader, "entry")
    whole = len(rows(reader, 2))
    one(reader, "#changes").click()
    assert any("lines that did not change" in row for row in rows(reader, 2, "gap"))
    assert len(rows(reader, 2)) < whole


def test_a_search_finds_marks_and_goes_on(reader: Chrome) -> None:
    stage(reader, "loops")
    keys(reader, "/")
    keys(reader, "vector.fma\n")
    assert one(reader, "#found").text.startswith("1 of ")
    assert one(reader, "#stage-view mark.here").text == "vector.fma"
    keys(reader, "\n")
    assert one(reader, "#found").text.startswith("2 of ")
    one(reader, "#query").clear()
    one(reader, "#query").send_keys("/[/")
    assert one(reader, "#found").text == "no such pattern"


def test_regions_fold_and_open(reader: Chrome) -> None:
    stage(reader, "loops")
    one(reader, "#fold-all").click()
    folded = reader.find_elements("css selector", '#stage-view [aria-label="open"]')
    assert folded
    before = len(rows(reader, 2))
    one(reader, "#open-all").click()
    assert len(rows(reader, 2)) > before


def test_a_line_leads_to_its_source_and_to_what_it_became(reader: Chrome) -> None:
    stage(reader, "module")
    (product,) = [
        row
        for row in reader.find_elements("css selector", "#stage-view .pane:nth-child(2) .row")
        if "arith.mulf" in row.text
    ]
    product.click()
    trail = {
        p.find_element("css selector", "b").text: p
        for p in reader.find_elements("css selector", "#trail p")
    }
    assert f"{Path(__file__).name}:" in one(reader, "#trail p").text
    assert "product = x @ w" in trail["source"].text
    assert {"linalg", "buffers", "loops", "llvm"} <= set(trail)
    trail["loops"].find_element("css selector", "button").click()
    assert reader.current_url.endswith("#stages/loops")
    assert one(reader, "#stage-view .cursor").is_displayed()


def test_all_of_it_works_from_the_keyboard(reader: Chrome) -> None:
    parts = {"s": "stages", "g": "graph", "c": "schedule", "a": "assembly", "o": "overview"}
    for key, part in parts.items():
        keys(reader, key)
        assert one(reader, f"#{part}").is_displayed()
    keys(reader, "s")
    first = reader.current_url
    keys(reader, "]")
    assert reader.current_url != first
    keys(reader, "[jjjf")
    assert reader.current_url == first
    assert one(reader, "#trail p b").text.split()[1] == "4"
    keys(reader, "?")
    assert one(reader, "dialog").is_displayed()


def test_the_graph_leads_to_its_ops(reader: Chrome) -> None:
    keys(reader, "g")
    boxes = reader.find_elements("css selector", "#graph [data-line]")
    assert [box.text.split()[0] for box in boxes].count("linalg.generic") == 3
    boxes[-1].click()
    assert reader.current_url.endswith("#stages/module")
    cursors = rows(reader, 2, "cursor")
    assert any("linalg.generic" in row for row in cursors)


@pytest.mark.parametrize("dark", [False, True])
def test_groups_that_were_searched_for_are_boxes_and_their_search_is_told(
    tmp_path: Path, dark: bool
) -> None:
    page = lx.explain.page(searched_sums()).write(tmp_path / "searched.html")
    with browser(dark=dark) as driver:
        opened(driver, page)
        keys(driver, "g")
        group = one(driver, "#graph .group")
        box, frame = group.rect, one(driver, "#graph .group > rect")
        inside = group.find_elements("css selector", "[data-line]")
        assert "linalg.fill" in {each.text.split()[0] for each in inside}
        for each in inside:
            assert box["x"] <= each.rect["x"]
            assert each.rect["y"] + each.rect["height"] <= box["y"] + box["height"]
        assert frame.value_of_css_property("fill") != one(
            driver, "#graph .node > rect"
        ).value_of_css_property("fill")
        assert "moves tried" in one(driver, "#graph .lx-plot").text
        steps = one(driver, "#graph .trace").text.splitlines()
        assert steps[0].split() == ["time", "tried", "cost", "move"]
        assert "Insert(" in steps[1]
        one(driver, "#graph summary").click()
        told = one(driver, "#graph details .trace").text.splitlines()
        assert len(told) >= len(steps)
        inside[-1].click()
        assert driver.current_url.endswith("#stages/module")
        driver.save_screenshot(str(tmp_path / "groups.png"))
        assert complaints(driver) == []


def test_the_hot_loop_is_marked(reader: Chrome) -> None:
    keys(reader, "a")
    assert "multiply-adds" in one(reader, "#hot-told").text
    one(reader, "#hot-go").click()
    hot = [row.text for row in reader.find_elements("css selector", "#assembly-view .hot")]
    assert any("fm" in row for row in hot)


def test_it_can_be_read_in_the_dark_and_in_the_light(page: Path, tmp_path: Path) -> None:
    brightness = {}
    for dark in (False, True):
        with browser(dark=dark) as driver:
            opened(driver, page)
            stage(driver, "loops")
            driver.save_screenshot(str(tmp_path / f"dark_{dark}.png"))
            style = "getComputedStyle(document.documentElement)"
            for what in ("color", "backgroundColor"):
                brightness[dark, what] = _light_of(driver.execute_script(f"return {style}.{what}"))
            assert complaints(driver) == []
    for dark in (False, True):
        paper, ink = brightness[dark, "backgroundColor"], brightness[dark, "color"]
        assert (paper < ink) == dark
        assert abs(paper - ink) > 150


def _light_of(color: str) -> float:
    """How light `rgb(31, 35, 40)` is, from 0 to 255."""
    return sum(map(float, color[color.index("(") + 1 : -1].split(",")[:3])) / 3


def test_a_kernel_that_came_without_its_stages_has_the_rest(
    chromium: Chrome, tmp_path: Path
) -> None:
    folder = lx.compile(chain(2)).export(tmp_path / "kernel", library=False)
    shutil.rmtree(folder / "stages")
    opened(chromium, lx.explain.page(lx.load(folder)).write(tmp_path / "page.html"))
    keys(chromium, "s]/x\n")
    assert "came without its stages" in one(chromium, "#stages").text
    one(chromium, '[data-tab="assembly"]').click()
    assert "lx_entry_chain" in one(chromium, "#assembly-view").text
    assert complaints(chromium) == []


def test_five_thousand_lines_are_quick(chromium: Chrome, tmp_path: Path) -> None:
    """No clock: what makes it quick is that the document holds the lines in sight alone."""
    kernel = lx.compile(chain(1000), opt_level=0)
    assert kernel.stages["module"].count("\n") > 5000
    opened(chromium, lx.explain.page(kernel).write(tmp_path / "long.html"))
    keys(chromium, "s")
    keys(chromium, "2")
    for place in (0, 40_000, 10**9):
        chromium.execute_script(f"document.getElementById('stage-view').scrollTop = {place}")
        count = chromium.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(() => "
            "arguments[0](document.querySelectorAll('#stage-view .row').length)))"
        )
        assert 20 < count < 300
    assert rows(chromium, 2)[-1].endswith("}")
    assert complaints(chromium) == []
