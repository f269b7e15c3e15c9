"""Duplicates are found within one agent's memories, confirmed by their words, and settled by a decision."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest

from noesis.duplicates.grouping import Candidate, grouped
from noesis.duplicates.pairs import BLOCK, NEIGHBOURS, near_rows
from noesis.duplicates.values import Wanted
from noesis.errors import Conflict, InvalidInput, NotFound
from noesis.memory import MemoryType, Role, Scope
from tests.operations.samples import MEMORIES, get, index, search, texts
from tests.support import Clock, Product, WordEmbedder

FRIDAYS = "We deploy the billing service on Fridays at noon."
AGAIN = "On Fridays at noon we deploy the billing service."
SHOUTED = "we deploy the billing service on fridays at noon!"
TUESDAYS = "We deploy the billing service on Tuesdays at noon."
NEVER = "We never deploy the billing service on Fridays at noon."


async def stored(client: httpx.AsyncClient, clock: Clock, *several: str, **values: Any) -> list[str]:
    ids = []
    for text in several:
        ids.append((await index(client, text, **values))["id"])
        clock.advance(seconds=1)
    return ids


async def look(product: Product, agent: str | None = None, **wanted: Any) -> Any:
    return await product.noesis.duplicates.look(
        agent, Wanted(**wanted), lambda _done, _total: None, lambda: False
    )


async def gateway(product: Product, agent: str) -> httpx.AsyncClient:
    _, secret = await product.noesis.tokens.create(Role.GATEWAY, [agent], f"gateway of {agent}")
    return product.client(secret, agent)


async def findings(client: httpx.AsyncClient, **params: Any) -> list[dict[str, Any]]:
    reply = await client.get("/api/v1/dedup", params=params)
    assert reply.status_code == 200, reply.text
    found: list[dict[str, Any]] = reply.json()["findings"]
    return found


async def decide(
    client: httpx.AsyncClient, finding: dict[str, Any], decision: str, **values: Any
) -> httpx.Response:
    return await client.post(f"/api/v1/dedup/{finding['id']}", json={"decision": decision, **values})


def outline(found: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return [(each["kind"], [member["memory"]["text"] for member in each["members"]]) for each in found]


async def test_a_look_groups_what_says_the_same_and_leaves_the_rest(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    await stored(alpha, clock, FRIDAYS, SHOUTED, AGAIN, NEVER, "The van key hangs by the door.")
    done = await look(product, "alpha")
    (report,) = done.reports
    assert (report.checked, report.exact, report.near, report.newer) == (5, 0, 1, 1)
    caller = await gateway(product, "alpha")
    (group,) = await findings(caller, kind="near")
    (kept, *others) = (member["memory"]["text"] for member in group["members"])
    assert (kept, set(others)) == (AGAIN, {FRIDAYS, SHOUTED})
    assert [member["keep"] for member in group["members"]] == [True, False, False]
    assert {member["reason"] for member in group["members"][1:]} == {
        "The same words in another form or order."
    }
    assert group["decisions"] == ["merge", "keep_both", "delete", "supersede"]


async def test_exact_repeats_are_found_without_vectors(
    alpha: httpx.AsyncClient, product: Product, clock: Clock, embedder: WordEmbedder
) -> None:
    embedder.down = True
    first, second = await stored(alpha, clock, FRIDAYS, SHOUTED)
    done = await look(product, "alpha")
    assert (done.reports[0].without_vector, done.reports[0].exact) == (2, 1)
    (group,) = await findings(await gateway(product, "alpha"))
    assert [member["memory"]["id"] for member in group["members"]] == [second, first]
    assert (group["kind"], group["similarity"]) == ("exact", 1.0)


async def test_the_one_with_the_highest_priority_is_to_be_kept(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    await stored(alpha, clock, FRIDAYS, priority=40)
    await stored(alpha, clock, AGAIN)
    await look(product, "alpha")
    (group,) = await findings(await gateway(product, "alpha"), kind="near")
    assert group["members"][0]["memory"]["text"] == FRIDAYS


async def test_a_merge_keeps_one_with_what_the_others_had(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    kept, gone = await stored(
        alpha, clock, FRIDAYS, priority=70, tags=["billing"], ttl_days=5
    ) + await stored(alpha, clock, AGAIN, tags=["billing", "deploy"], ttl_days=30)
    newer = await stored(alpha, clock, TUESDAYS)
    await search(alpha, AGAIN, limit=2)
    await alpha.post(f"{MEMORIES}/{newer[0]}/supersede", json={"by": gone})
    await look(product, "alpha")
    caller = await gateway(product, "alpha")
    (group,) = await findings(caller, kind="near")
    before = await get(alpha, gone)
    reply = await decide(caller, group, "merge")
    assert (reply.status_code, reply.json()["kept"], reply.json()["others"]) == (200, kept, [gone])
    memory, merged = await get(alpha, kept), await get(alpha, gone)
    assert (memory["text"], memory["tags"], memory["priority"]) == (FRIDAYS, ["billing", "deploy"], 70)
    assert memory["expires_at"] == before["expires_at"]
    assert (merged["archived"], merged["archive_reason"], merged["text"]) == (True, "merged", AGAIN)
    assert (await get(alpha, newer[0]))["superseded_by"] == kept
    assert (await product.noesis.uses.of([kept, gone]))[kept].search == 2
    events = (await alpha.get(f"{MEMORIES}/{gone}/history")).json()["events"]
    assert (events[0]["kind"], events[0]["because"]) == ("merged", f"merge into {kept}")
    assert AGAIN not in texts(await search(alpha, AGAIN, archive="never"))
    assert await findings(caller, kind="near") == []
    assert (await decide(caller, group, "merge")).status_code == 409


async def test_another_memory_may_be_kept(alpha: httpx.AsyncClient, product: Product, clock: Clock) -> None:
    first, second = await stored(alpha, clock, FRIDAYS, AGAIN)
    await look(product, "alpha")
    caller = await gateway(product, "alpha")
    (group,) = await findings(caller)
    assert (await decide(caller, group, "delete", keep="no-such-id")).status_code == 400
    assert (await decide(caller, group, "delete", keep=first)).json()["kept"] == first
    assert (await get(alpha, second))["archive_reason"] == "deleted"
    assert (await alpha.post(f"{MEMORIES}/{second}/undelete")).status_code == 200


async def test_what_is_kept_apart_is_not_proposed_again(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    await stored(alpha, clock, FRIDAYS, AGAIN, SHOUTED)
    caller = await gateway(product, "alpha")
    await look(product, "alpha")
    (group,) = await findings(caller)
    assert (await decide(caller, group, "keep_both")).json()["state"] == "kept"
    await look(product, "alpha")
    assert await findings(caller) == []
    (new,) = await stored(alpha, clock, f"Note: {FRIDAYS}")
    await look(product, "alpha")
    (group,) = await findings(caller)
    assert group["members"][0]["memory"]["id"] == new


async def test_a_newer_statement_on_a_matter_can_supersede_the_older_one(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    old, new = await stored(alpha, clock, FRIDAYS, TUESDAYS, memory_type="decision")
    await look(product, "alpha", threshold=0.8)
    caller = await gateway(product, "alpha")
    (proposed,) = await findings(caller)
    assert outline([proposed]) == [("newer", [TUESDAYS, FRIDAYS])]
    assert proposed["members"][1]["words"] == ["tuesdays", "fridays"]
    assert (await decide(caller, proposed, "merge")).status_code == 400
    assert (await decide(caller, proposed, "supersede")).json()["state"] == "superseded"
    assert (await get(alpha, old))["superseded_by"] == new
    await look(product, "alpha", threshold=0.8)
    assert await findings(caller) == []


async def test_sections_of_one_file_and_passing_talk_supersede_nothing(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    await stored(alpha, clock, FRIDAYS, TUESDAYS, source="notes.md")
    await stored(alpha, clock, FRIDAYS, TUESDAYS, memory_type="session", session_id="s")
    done = await look(product, "alpha", threshold=0.8, memory_type=MemoryType.SESSION)
    assert done.reports[0].newer == 0
    assert (await look(product, "alpha", threshold=0.8)).reports[0].newer == 0


async def test_what_two_people_say_of_themselves_is_not_one_thing(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    await stored(alpha, clock, "I am allergic to peanuts", author="Mia", session_id="s", position=1)
    await stored(alpha, clock, "I am allergic to peanuts", author="Tom", session_id="s", position=2)
    report = (await look(product, "alpha")).reports[0]
    assert (report.exact, report.near) == (0, 0)


async def test_a_text_that_changed_since_is_not_merged_unseen(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    first, second = await stored(alpha, clock, FRIDAYS, AGAIN)
    await look(product, "alpha")
    caller = await gateway(product, "alpha")
    (group,) = await findings(caller)
    await alpha.patch(f"{MEMORIES}/{first}", json={"text": TUESDAYS})
    assert await findings(caller) == []
    reply = await decide(caller, group, "merge")
    assert reply.status_code == 409
    assert [(await get(alpha, each))["archived"] for each in (first, second)] == [False, False]


async def test_nothing_of_another_agent_is_found_shown_or_decided(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    beta = await product.agent("beta")
    await stored(alpha, clock, FRIDAYS, AGAIN)
    await stored(beta, clock, SHOUTED)
    done = await look(product)
    assert [(report.agent, report.near + report.exact) for report in done.reports] == [
        ("alpha", 1),
        ("beta", 0),
    ]
    ours, theirs = await gateway(product, "alpha"), await gateway(product, "beta")
    (group,) = await findings(ours)
    assert {member["memory"]["agent_id"] for member in group["members"]} == {"alpha"}
    answer = (await theirs.get("/api/v1/dedup")).json()
    assert (answer["findings"], [each["agent_id"] for each in answer["reports"]]) == ([], ["beta"])
    for decision in ("merge", "delete", "keep_both", "supersede"):
        assert (await decide(theirs, group, decision)).status_code == 404
    refused = await theirs.post("/api/v1/dedup", json={"agent_id": "alpha"})
    assert refused.status_code == 403
    for method in ("GET", "POST"):
        assert (await beta.request(method, "/api/v1/dedup", json={})).status_code == 403
    assert len(await findings(await product.admin())) == 1


async def test_a_dry_run_leaves_the_report_as_it_is(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    ids = await stored(alpha, clock, FRIDAYS, AGAIN)
    done = await look(product, "alpha", dry_run=True)
    assert {member.id for member in done.findings[0].members} == set(ids)
    caller = await gateway(product, "alpha")
    assert (await caller.get("/api/v1/dedup")).json() == {"reports": [], "findings": [], "cursor": None}


async def test_findings_come_in_pages(alpha: httpx.AsyncClient, product: Product, clock: Clock) -> None:
    for name in ("oak", "elm", "fir"):
        await stored(alpha, clock, f"the {name} stands there", f"The {name} stands there!")
    await look(product, "alpha")
    caller = await gateway(product, "alpha")
    whole = await findings(caller)
    assert len(whole) == 3
    pages, cursor = [], None
    while True:
        reply = (
            await caller.get("/api/v1/dedup", params={"limit": 1, **({"cursor": cursor} if cursor else {})})
        ).json()
        pages += reply["findings"]
        cursor = reply["cursor"]
        if cursor is None:
            break
    assert pages == whole
    assert (await caller.get("/api/v1/dedup", params={"cursor": "nonsense"})).status_code == 400


async def test_the_job_does_it(alpha: httpx.AsyncClient, product: Product, clock: Clock) -> None:
    from noesis.worker.handlers import JobContext
    from noesis.worker.tasks import HANDLERS

    await stored(alpha, clock, FRIDAYS, AGAIN)
    caller = await gateway(product, "alpha")
    assert (await caller.post("/api/v1/dedup", json={"threshold": 0.5})).status_code == 400
    reply = await caller.post("/api/v1/dedup", json={"threshold": 0.8})
    assert reply.status_code == 202
    job = await product.noesis.jobs.get(reply.json()["job_id"])
    assert FRIDAYS not in str(job.args)
    context = JobContext(product.noesis, job)
    result = await HANDLERS["dedup"].run(context, **job.args)
    assert result is not None
    assert (result["reports"][0]["near"], result["reports"][0]["threshold"]) == (1, 0.8)
    assert (context.beat.done, context.beat.total) == (2, 2)
    context.ask_to_stop()
    stopped = await HANDLERS["dedup"].run(context, **job.args)
    assert stopped is not None
    assert (stopped["whole"], len(await findings(caller))) == (False, 1)


async def test_errors_have_their_classes(product: Product) -> None:
    scope = Scope(agent="alpha", role=Role.GATEWAY)
    with pytest.raises(NotFound):
        await product.noesis.duplicates.decide(scope, "x' OR '1'='1", decision=None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await look(product, "alpha", threshold=float("nan"))
    assert issubclass(Conflict, Exception)


def test_near_rows_finds_every_pair_across_blocks() -> None:
    """The same pairs as comparing each row with each."""
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(BLOCK + 300, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = {(int(a), int(b)) for a, b in np.argwhere(np.triu(vectors @ vectors.T, 1) >= 0.93)}
    found = [near_rows(vectors, start, 0.93) for start in range(0, len(vectors), BLOCK)]
    pairs = {(int(a), int(b)) for each in found for a, b in zip(each.first, each.second, strict=True)}
    assert len(expected) > 100
    assert pairs == expected
    assert sum(each.left_out for each in found) == 0


def test_a_crowd_of_look_alikes_is_bounded_and_counted() -> None:
    vectors = np.full((60, 4), 0.5, dtype=np.float32)
    found = near_rows(vectors, 0, 0.9)
    per_row = np.bincount(found.first, minlength=60)
    assert per_row.max() == NEIGHBOURS
    assert len(found.first) + found.left_out == 60 * 59 // 2


def candidate(name: str, **values: Any) -> Candidate:
    known: dict[str, Any] = {
        "id": name,
        "digest": name.encode(),
        "content_hash": name,
        "memory_type": "fact",
        "source": None,
        "author": None,
        "priority": 30,
        "by_hand": False,
        "created_at": 0,
        "length": 10,
    }
    return Candidate(**(known | values))


@pytest.mark.parametrize(
    "better",
    [{"priority": 31}, {"by_hand": True}, {"created_at": 1}, {"length": 11}],
)
def test_what_makes_a_memory_the_one_to_keep(better: dict[str, Any]) -> None:
    known = {"a": candidate("a", **better), "b": candidate("b")}
    assert grouped(known, {("a", "b"): 0.95}) == [[("a", 1.0), ("b", 0.95)]]


def test_sameness_does_not_carry_over() -> None:
    """b is like a and like c, but a and c are not alike: c is no member of a's group."""
    known = {
        name: candidate(name, priority=priority) for name, priority in zip("abc", (50, 40, 30), strict=True)
    }
    assert grouped(known, {("a", "b"): 0.95, ("b", "c"): 0.96}) == [[("a", 1.0), ("b", 0.95)]]
