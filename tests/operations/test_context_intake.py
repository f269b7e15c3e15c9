"""Turns that a host hands over: kept before it is answered, captured once, whichever way they come."""

from __future__ import annotations

from pathlib import Path

import msgspec

from noesis.capturing import Captures
from noesis.context.intake import GivenTurn
from noesis.context.messages import Message
from noesis.memory import MemoryFilter, Scope
from noesis.runtime import Noesis
from noesis.turns import Turn
from tests.support import NOW, Product

SECRET = "ghp_EXAMPLEexampleEXAMPLEexample1234"
ALPHA = Scope("alpha")


def given(*messages: Message, key: str = "k1", session: str = "s1", heartbeat: bool = False) -> GivenTurn:
    return GivenTurn(session_id=session, advancement_key=key, messages=messages, is_heartbeat=heartbeat)


def said(text: str, role: str = "user", at: int = NOW, **more: object) -> Message:
    return msgspec.convert({"role": role, "content": text, "timestamp": at, **more}, Message)


async def captured(noesis: Noesis) -> None:
    for turn_id in await noesis.context.intake.waiting():
        await noesis.context.intake.capture(turn_id)


async def texts(noesis: Noesis, agent: str = "alpha") -> list[str]:
    page = await noesis.browsing.page(Scope(agent), MemoryFilter(), limit=200)
    return sorted(memory.text for memory in page.memories)


async def test_a_turn_is_kept_before_it_is_captured_and_its_text_is_gone_afterwards(
    product: Product, tmp_path: Path
) -> None:
    noesis = product.noesis
    decision = "We decided to host the wiki on port 8085."
    taken = await noesis.context.intake.accept("alpha", given(said(decision)))
    assert (taken.accepted, taken.duplicate) == (1, False)
    assert await texts(noesis) == []
    assert await noesis.context.intake.waiting() == [taken.turn_id]
    await captured(noesis)
    assert await texts(noesis) == [decision]
    assert await noesis.context.intake.waiting() == []
    assert taken.turn_id is not None
    # A job that runs again after a kill finds nothing left to do.
    assert await noesis.context.intake.capture(taken.turn_id) == Captures()


async def test_the_same_key_is_taken_once_for_an_agent(product: Product) -> None:
    noesis = product.noesis
    first = await noesis.context.intake.accept("alpha", given(said("We decided to use Postgres 16.")))
    again = await noesis.context.intake.accept("alpha", given(said("We decided to use Postgres 16.")))
    other = await noesis.context.intake.accept("beta", given(said("We decided to use MySQL 8.")))
    assert (first.duplicate, again.duplicate, other.duplicate) == (False, True, False)
    await captured(noesis)
    assert await texts(noesis) == ["We decided to use Postgres 16."]
    assert await texts(noesis, "beta") == ["We decided to use MySQL 8."]


async def test_noise_is_never_written_down(product: Product) -> None:
    noesis = product.noesis
    block = (
        '<noesis-memory id="abcdefgh">\n- [x] The van key hangs by the door.\n</noesis-memory id="abcdefgh">'
    )
    noise = [
        said("HEARTBEAT_OK", "assistant"),
        said("a long line of output\n" * 400, "toolResult"),
        said("NO_REPLY", "assistant"),
        said(block),
    ]
    taken = await noesis.context.intake.accept("alpha", given(*noise))
    assert (taken.accepted, taken.turn_id) == (0, None)
    beat = given(said("We decided to move to Bern."), key="k2", heartbeat=True)
    assert (await noesis.context.intake.accept("alpha", beat)).accepted == 0
    polled = given(
        said("[OpenClaw heartbeat poll]"), said("We decided to move to Rome.", "assistant"), key="k3"
    )
    assert (await noesis.context.intake.accept("alpha", polled)).accepted == 0
    await captured(noesis)
    assert await texts(noesis) == []


async def test_secrets_are_taken_out_before_a_turn_is_kept_and_it_still_waits_for_a_person(
    product: Product, tmp_path: Path
) -> None:
    noesis = product.noesis
    text = f"We decided that the deploy token is {SECRET} and stays so."
    await noesis.context.intake.accept("alpha", given(said(text)))
    held = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert held == []
    await captured(noesis)
    assert await texts(noesis) == []
    waiting = await noesis.inflow.inbox.page(ALPHA)
    assert [each.reasons for each in waiting.waiting] == [("secret",)]
    assert await noesis.redacting.totals("alpha") != {}


async def test_a_turn_that_the_watcher_brought_is_not_stored_again(product: Product) -> None:
    """By the host's id of the entry, or where one way has none by role, time and words."""
    noesis = product.noesis
    decision = "We decided to paint the shed green."
    watched = Turn(session_id="s1", number=4, role="user", text=decision, entry_id="e-1", said_at=NOW)
    await noesis.inflow.capturing.capture("alpha", [watched], "openclaw")
    with_id = given(said(decision, entry_id="e-1", at=NOW + 5))
    without = given(said(decision), key="k2")
    for each in (with_id, without):
        await noesis.context.intake.accept("alpha", each)
    await captured(noesis)
    assert await texts(noesis) == [decision]


async def test_a_turn_that_the_host_brought_is_not_stored_again_by_the_watcher(product: Product) -> None:
    noesis = product.noesis
    text = f"We decided to paint the shed green, the key is {SECRET}."
    await noesis.context.intake.accept("alpha", given(said(text), said("We decided to sleep.", at=NOW + 1)))
    await captured(noesis)
    watched = [
        Turn(session_id="s1", number=9, role="user", text=text, entry_id="e-1", said_at=NOW),
        Turn(
            session_id="s1",
            number=10,
            role="user",
            text="We decided to sleep.",
            entry_id="e-2",
            said_at=NOW + 1,
        ),
    ]
    found = await noesis.inflow.capturing.capture("alpha", watched, "openclaw")
    assert found.known == 2
    assert await texts(noesis) == ["We decided to sleep."]


async def test_messages_without_numbers_follow_those_of_the_session_before(product: Product) -> None:
    noesis = product.noesis
    first = given(said("We decided to use tabs."), said("We decided to use spaces.", at=NOW + 1))
    second = given(said("We decided to use neither.", at=NOW + 2), key="k2")
    numbered = given(said("We decided to use both.", at=NOW + 3, seq=40), key="k3")
    for each in (first, second, numbered):
        await noesis.context.intake.accept("alpha", each)
    await captured(noesis)
    page = await noesis.browsing.page(ALPHA, MemoryFilter())
    assert sorted(
        (memory.position, memory.text) for memory in page.memories if memory.position is not None
    ) == [
        (0, "We decided to use tabs."),
        (1, "We decided to use spaces."),
        (2, "We decided to use neither."),
        (40, "We decided to use both."),
    ]


async def test_content_may_be_blocks_and_what_is_no_text_is_passed_over(product: Product) -> None:
    noesis = product.noesis
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "We decided to keep bees."},
        {"type": "toolCall", "id": "1", "name": "x", "arguments": {"text": "We decided to keep wasps."}},
    ]
    message = msgspec.convert({"role": "user", "content": blocks, "timestamp": NOW, "usage": {}}, Message)
    await noesis.context.intake.accept("alpha", given(message))
    await captured(noesis)
    assert await texts(noesis) == ["We decided to keep bees."]
