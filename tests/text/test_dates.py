"""The dates that a question names, in several languages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from noesis.text.dates import Dates, dates_named, fit


def dates(*, years: str = "", months: str = "", days: str = "") -> Dates:
    """Dates from numbers with spaces between."""
    return Dates(*(frozenset(map(int, part.split())) for part in (years, months, days)))


def ms(text: str) -> int:
    """A moment in ms since 1970."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("When did she go in May 2023?", dates(years="2023", months="5")),
        ("what happened on 7 May 2023", dates(years="2023", months="5", days="7")),
        ("on June 7th, 1999", dates(years="1999", months="6", days="7")),
        ("the 7th of May", dates(months="5", days="7")),
        ("am 3. März", dates(months="3", days="3")),
        ("el 3 de agosto de 2024", dates(years="2024", months="8", days="3")),
        ("in the summer of 2022", dates(years="2022", months="6 7 8")),
        ("last winter", dates(months="12 1 2")),
        ("between June and August", dates(months="6 8")),
        ("en été", dates(months="6 7 8")),
    ],
)
def test_dates_are_read(text: str, named: Dates) -> None:
    assert dates_named(text) == named
    assert dates_named(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "may I go",
        "it may rain",
        "did it fall",
        "il a été là",
        "march on",
        "7 herons",
        "room 20233",
        "12:30",
    ],
)
def test_other_words_and_numbers_name_no_date(text: str) -> None:
    assert not dates_named(text)


def test_a_day_fits_by_the_share_of_what_is_named() -> None:
    named = dates_named("7 May 2023")
    assert fit(named, ms("2023-05-07T23:59")) == 1
    assert fit(named, ms("2023-05-08T12:00")) == 1, "people tell of a day on the next one"
    assert fit(named, ms("2023-05-20T12:00")) == pytest.approx(2 / 3)
    assert fit(named, ms("2022-05-20T12:00")) == pytest.approx(1 / 3)
    assert fit(named, ms("2022-06-20T12:00")) == 0


def test_a_season_fits_as_its_months_and_nothing_named_fits_nothing() -> None:
    assert fit(dates_named("in winter"), ms("2024-01-15T00:00")) == 1
    assert fit(dates_named("in winter"), ms("2024-03-15T00:00")) == 0
    assert fit(Dates(), ms("2024-03-15T00:00")) == 0
