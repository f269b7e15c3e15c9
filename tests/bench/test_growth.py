"""How searches grow: the targets of one size, the table, the curves."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click import BadParameter

from bench.growth import Growth, Recall, Searches, Step, curves, searches_of, text, verdicts
from bench.plot import HEIGHT, WIDTH, Curve, plot
from bench.reading import Answered, Compared
from bench.scale import Counts

SEARCHES = Searches(1, whole=(20.0, 45.0), apart=(12.0, 30.0), embedding=(8.0, 15.0), bare=(6.0, 20.0))
STEP = Step(100_000, 60.0, [SEARCHES], Recall(0.995, 0.9), Recall(0.8, 0.7), idle_mb=400, peak_mb=500)
GROWTH = Growth("here", 120, [msgspec.structs.replace(STEP, memories=1000), STEP])
SVG = "{http://www.w3.org/2000/svg}"


def judged(step: Step) -> list[str]:
    return [line.split(":")[0] for line in verdicts(Growth("here", 1, [step]))]


def test_the_embedding_is_taken_off_each_search() -> None:
    found = Compared([Answered(10, 9, 4, 5), Answered(30, 29, 25, 3)], [2.0, 4.0], 0.1, 0.1)
    searches = searches_of(8, found)
    assert (searches.whole[0], searches.apart[0], searches.embedding[0]) == (20, 5.5, 14.5)
    assert searches.ratio == searches.apart[1] / searches.bare[1]


@pytest.mark.parametrize(("p95", "told"), [(40.0, "Met"), (40.1, "Missed")])
def test_a_search_may_take_twice_the_bare_query(p95: float, told: str) -> None:
    step = msgspec.structs.replace(STEP, searches=[msgspec.structs.replace(SEARCHES, apart=(9.0, p95))])
    assert judged(step) == [told, "Met"]


@pytest.mark.parametrize(("recall", "told"), [(0.99, "Met"), (0.9899, "Missed")])
def test_an_index_may_lose_one_in_a_hundred(recall: float, told: str) -> None:
    assert judged(msgspec.structs.replace(STEP, recall=Recall(recall, 0.5))) == ["Met", told]


def test_other_sizes_have_no_targets() -> None:
    assert judged(msgspec.structs.replace(STEP, memories=500_000)) == []


def test_the_tables_show_every_size() -> None:
    shown = text(GROWTH)
    assert "| 1,000 | 1 | 20.0 / 45.0 | 12.0 / 30.0 | 8.0 / 15.0 | 6.0 / 20.0 | 1.50 |" in shown
    assert "| 100,000 | 0.9950 | 0.9000 | 0.8000 | 0.7000 | 400 | 500 | 60 |" in shown


def test_a_curve_goes_through_every_size() -> None:
    root = ET.fromstring(curves(GROWTH))
    lines = root.findall(f"{SVG}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [2, 2]
    names = [element.text for element in root.findall(f"{SVG}text")]
    assert {"search, 1 client", "bare query, 1 client", "1,000", "100,000", "p95, ms"} <= set(names)


def test_axes_are_logarithmic_and_hold_every_point() -> None:
    drawn = plot([Curve("a < b", [(10, 1), (100, 10), (1000, 100)])], across="x", up="y")
    circles = ET.fromstring(drawn).findall(f"{SVG}circle")
    places = [(float(circle.attrib["cx"]), float(circle.attrib["cy"])) for circle in circles]
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in places)
    steps = {(round(b[0] - a[0]), round(b[1] - a[1])) for a, b in pairwise(places)}
    assert len(steps) == 1
    across, up = steps.pop()
    assert across > 0 > up


def test_a_curve_may_be_one_point() -> None:
    assert "circle" in plot([Curve("alone", [(1000, 10)])], across="x", up="y")


def test_large_numbers_are_written_out() -> None:
    drawn = plot([Curve("grown", [(1000, 0.2), (1_000_000, 2)])], across="x", up="y")
    assert ">1,000,000<" in drawn
    assert ">0.1<" in drawn


def test_counts_stand_between_commas() -> None:
    assert Counts().convert("1,8, 64", None, None) == (1, 8, 64)


@pytest.mark.parametrize("words", ["", "1,", "0", "-1", "ten"])
def test_what_is_no_count_is_refused(words: str) -> None:
    with pytest.raises(BadParameter):
        Counts().convert(words, None, None)
