"""The plugin with an OpenClaw of before 2026.8, which ends turns instead of committing them."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Stage, config_of
from tests.plugin.scripted_model import system_of

pytestmark = [pytest.mark.torture, pytest.mark.timeout(900)]


def test_both_slots_are_filled(old_stage: Stage) -> None:
    assert config_of(old_stage.openclaw)["plugins"]["slots"] == {
        "memory": "noesis",
        "contextEngine": "noesis",
    }


def test_it_remembers_across_conversations_and_once(old_stage: Stage) -> None:
    decisions = [f"We decided to host the {thing} on port 8085." for thing in ("wiki", "shop")]
    for text in decisions:
        old_stage.openclaw.turn(text, session="first")
        old_stage.wait_for_memory(text)
    old_stage.openclaw.turn("Where does it live, the wiki?", session="second")
    assert "host the wiki on port 8085" in system_of(
        old_stage.model.sent("Where does it live, the wiki?")[-1]
    )
    texts = old_stage.texts()
    assert [texts.count(text) for text in decisions] == [1, 1]


def test_its_tools_work(old_stage: Stage) -> None:
    old_stage.model.scripts["use two tools"] = [
        {"noesis_index": {"content": "The staging database is called heron-2."}},
        {"memory_search": {"query": "what is the staging database called?"}},
    ]
    old_stage.openclaw.turn("Please use two tools.", session="tools")
    assert "heron-2" in old_stage.model.results("use two tools")["memory_search"]


def test_a_stopped_noesis_costs_no_turn(old_stage: Stage) -> None:
    old_stage.noesis.stop()
    assert old_stage.openclaw.turn("We decided to moor at pier Amber.", session="outage") == "Noted."
    old_stage.noesis.start()
    old_stage.wait_for_memory("pier Amber")
    assert sum("pier Amber" in text for text in old_stage.texts()) == 1
