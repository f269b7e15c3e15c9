"""The pages of agents: counts, tokens, policies, and what is in a prompt now."""

from __future__ import annotations

import itertools
import re

import httpx
import pytest

from noesis.agents import Policy
from noesis.context.values import Occasion
from noesis.errors import Unauthorized
from noesis.growth import WEEK_MS
from noesis.memory import MemoryType, Role, Scope
from noesis.runtime import Noesis
from tests.dashboard.conftest import remember
from tests.support import NOW, Clock


async def shown(admin: httpx.AsyncClient, address: str) -> str:
    """A page without its tags, blanks run together."""
    main = (await admin.get(address)).text.split("<main", 1)[1].split("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


async def test_the_empty_page_says_how_to_begin(admin: httpx.AsyncClient) -> None:
    page = await shown(admin, "/agents")
    assert "No agent has a memory yet." in page
    assert "Nobody can call the API yet but you" in page


async def test_agents_are_those_with_memories_tokens_or_a_policy(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    await remember(noesis, "The heron comes in the morning.", agent="planner")
    await noesis.agents.set_policy(Policy("writer", may_read_across=True, redaction="block", max_memories=5))
    await noesis.tokens.create(Role.AGENT, ["coder"], "the coder's")
    page = await shown(admin, "/agents")
    assert "coder 0 0" in page
    assert "planner 1 0" in page
    assert "writer 0 0 – may search all agents · secrets blocked · at most 5 memories" in page


async def test_a_token_is_made_and_its_secret_shown_once(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    fields = {"name": "gateway <b>", "role": "gateway", "agents": "main, ops"}
    answer = await admin.post("/agents/tokens", data=fields)
    secret = re.search(r"nse_\w+", answer.text)
    assert (answer.status_code, secret is not None) == (200, True)
    assert answer.headers["cache-control"] == "no-store"
    assert secret is not None
    token = await noesis.tokens.authenticate(_whole(answer.text))
    assert (token.role, token.agents) == (Role.GATEWAY, ("main", "ops"))
    assert "gateway &lt;b&gt;" in answer.text
    page = await admin.get("/agents")
    assert secret.group() not in page.text
    assert (await noesis.audit.newest(1))[0].action == "token created"


def _whole(text: str) -> str:
    found = re.search(r'aria-label="The token">(\S+)</pre>', text)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": " ", "role": "agent", "agents": "main"}, "name must have 1 to 128 characters"),
        ({"name": "x", "role": "agent", "agents": "a, b"}, "exactly one agent"),
        ({"name": "x", "role": "gateway", "agents": ""}, "Name the agents"),
        ({"name": "x", "role": "king", "agents": "a"}, "Choose a role"),
        ({"name": "x", "role": "agent", "agents": "a b"}, "agent"),
    ],
)
async def test_a_mistake_brings_the_form_back(
    admin: httpx.AsyncClient, noesis: Noesis, fields: dict[str, str], words: str
) -> None:
    answer = await admin.post("/agents/tokens", data=fields)
    assert answer.status_code == 400
    assert words in answer.text
    assert f'value="{fields["agents"]}"' in answer.text
    assert await noesis.tokens.list() == []


async def test_a_token_is_revoked_after_a_question(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    token, secret = await noesis.tokens.create(Role.AGENT, ["main"], "old laptop")
    assert "old laptop" in await shown(admin, f"/agents/tokens/{token.id}/revoke")
    assert len(await noesis.tokens.list()) == 1
    answer = await admin.post(f"/agents/tokens/{token.id}/revoke")
    assert answer.headers["location"] == "/agents?said=revoked"
    with pytest.raises(Unauthorized):
        await noesis.tokens.authenticate(secret)
    assert (await admin.get(f"/agents/tokens/{token.id}/revoke")).status_code == 404


async def test_a_policy_is_set_and_taken_back(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    fields = {
        "may_read_across": "yes",
        "redaction": "off",
        "max_memories": "500",
        "writes_per_minute": "0",
        "life-session": "7.5",
        "life-decision": "0",
    }
    answer = await admin.post("/agents/Planner/policy", data=fields)
    assert answer.headers["location"] == "/agents/planner?said=edited"
    assert await noesis.agents.policy("planner") == Policy(
        "planner", True, "off", {"session": 7.5, "decision": 0.0}, 500, 0
    )
    page = (await admin.get("/agents/planner")).text
    assert 'value="7.5"' in page
    assert "checked" in page
    answer = await admin.post("/agents/planner/policy", data=fields)
    assert answer.headers["location"].endswith("said=unchanged")
    await admin.post("/agents/planner/policy", data={"redaction": ""})
    assert await noesis.agents.policy("planner") == Policy("planner")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("max_memories", "-1", "A whole number"),
        ("writes_per_minute", "many", "A whole number"),
        ("life-fact", "nan", "The days must"),
        ("life-fact", "-2", "The days must"),
        ("life-default", "99999", "The days must"),
        ("redaction", "maybe", "Choose what happens"),
    ],
)
async def test_a_bad_policy_changes_nothing(
    admin: httpx.AsyncClient, noesis: Noesis, field: str, value: str, words: str
) -> None:
    answer = await admin.post("/agents/planner/policy", data={"may_read_across": "yes", field: value})
    assert answer.status_code == 400
    assert words in answer.text
    assert await noesis.agents.policy("planner") == Policy("planner")


async def test_what_is_in_its_prompt_now_is_told_with_reasons(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    await remember(noesis, "We decided to keep the boat in the long shed.", memory_type=MemoryType.DECISION)
    await remember(noesis, "The writer's secret decision.", agent="writer", memory_type=MemoryType.DECISION)
    page = await shown(admin, "/agents/planner?prompt=")
    assert "1 memory," in page
    assert "for its priority" in page
    assert "keep the boat in the long shed" in page
    assert "The writer" not in page
    found = await noesis.context.assembling.assemble(Scope(agent="planner", role=Role.ADMIN), Occasion())
    assert f"{found.token_count} tokens" in page
    assert "Nothing: no memory has the priority" in await shown(admin, "/agents/coder?prompt=boats")


async def test_growth_is_by_week(noesis: Noesis, clock: Clock) -> None:
    for number, weeks_ago in enumerate((0, 0, 1, 3, 40)):
        await remember(noesis, f"Memory {number}.", created_at=NOW - weeks_ago * WEEK_MS, ttl_days=0)
    await remember(noesis, "Another's.", agent="writer")
    told = await noesis.growth.weeks(Scope(agent="planner"), 4)
    assert [count for _, count in told] == [1, 0, 1, 2]
    assert all(later - earlier == WEEK_MS for (earlier, _), (later, _) in itertools.pairwise(told))
    assert told[-1][0] <= clock() < told[-1][0] + WEEK_MS


async def test_names_that_are_none_are_refused(admin: httpx.AsyncClient) -> None:
    assert (await admin.get("/agents/a%20b")).status_code == 400
    assert (await admin.get("/agents/..%2Fx")).status_code in (400, 404)
