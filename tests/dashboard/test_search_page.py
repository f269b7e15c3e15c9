"""The search page over HTTP."""

from __future__ import annotations

import httpx

from noesis.memory import DAY_MS, MemoryType
from noesis.runtime import Noesis
from tests.dashboard.conftest import remember
from tests.support import WordEmbedder


async def test_without_any_memory_it_says_how_to_begin(admin: httpx.AsyncClient) -> None:
    page = (await admin.get("/")).text
    assert "Nothing is remembered yet" in page
    assert "noesis token create" in page


async def test_without_a_question_the_newest_come_first(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    now = noesis.now_ms()
    await remember(noesis, "the older one", created_at=now - 3 * DAY_MS)
    await remember(noesis, "the newer one", created_at=now - 60_000 * 5)
    page = (await admin.get("/")).text
    assert page.index("the newer one") < page.index("the older one")
    assert "3 days ago" in page
    assert "5 minutes ago" in page
    assert "2 memories in" in page


async def test_hits_are_marked_and_explained(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "Backups run at night.", "ops", source="infra.md", tags=("nas",))
    await remember(noesis, "Tea is better than coffee.", "writer")
    page = (await admin.get("/", params={"q": "backups"})).text
    assert f'href="/memories/{memory_id}"' in page
    assert "<mark>Backups</mark>" in page
    assert "why?" in page
    assert "by meaning" in page
    for shown in ("ops", "infra.md", "nas", "score"):
        assert shown in page


FILTERS: list[tuple[dict[str, str], set[str]]] = [
    ({"agent": "ops"}, {"alpha"}),
    ({"type": "decision"}, {"beta"}),
    ({"tag": "red"}, {"alpha"}),
    ({"tag": "red, blue"}, set()),
    ({"before": "2020-01-31"}, {"beta"}),
    ({"after": "2020-02-01"}, {"alpha"}),
    ({"mode": "keyword"}, {"alpha", "beta"}),
    ({"archive": "only"}, set()),
]


async def test_every_filter_works_from_the_address(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    last_second_of_the_day = 1_580_515_199_000  # 2020-01-31 23:59:59 UTC
    await remember(noesis, "common alpha", "ops", tags=("red",))
    await remember(
        noesis,
        "common beta",
        "writer",
        memory_type=MemoryType.DECISION,
        created_at=last_second_of_the_day,
        ttl_days=0,
    )
    for parameters, found in FILTERS:
        for query in ("common", ""):
            page = (await admin.get("/", params=parameters | {"q": query})).text
            listed = page.split('id="results"')[1]
            assert {word for word in ("alpha", "beta") if word in listed} == found, (parameters, query)


async def test_the_form_shows_what_the_address_asks(admin: httpx.AsyncClient) -> None:
    address = {
        "q": 'say "hi"',
        "agent": "nobody",
        "type": "fact",
        "tag": "a, b",
        "archive": "always",
        "mode": "keyword",
    }
    page = (await admin.get("/", params=address)).text
    assert 'value="say &#34;hi&#34;"' in page
    assert "<option selected>nobody</option>" in page
    assert '<option value="always" selected>always</option>' in page
    assert 'value="a, b"' in page
    assert '<details class="filters" open>' in page
    assert "Nothing fits" in page
    assert "Drop the filters" in page


WRONG: list[tuple[dict[str, str], str]] = [
    ({"mode": "magic"}, "mode must be one of"),
    ({"archive": "x"}, "archive must be one of"),
    ({"type": "x"}, "type must be one of"),
    ({"after": "yesterday"}, "A day looks like"),
    ({"before": "9999-12-31"}, "A day looks like"),
    ({"agent": "no such name!"}, "agent&#39;s name"),
    ({"limit": "0"}, "limit must be"),
    ({"limit": "٣"}, "limit must be"),
    ({"cursor": "x", "q": ""}, "cursor is not one"),
    ({"tag": "x" * 65}, "A tag must have"),
    ({"q": "x" * 50_001}, "at most"),
]


async def test_a_wrong_value_is_named_and_the_form_stays(admin: httpx.AsyncClient) -> None:
    for parameters, message in WRONG:
        answer = await admin.get("/", params={"q": "tea"} | parameters)
        assert answer.status_code in (400, 413), parameters
        assert message in answer.text
        assert 'id="q"' in answer.text


async def test_a_search_without_the_embedder_says_so(
    admin: httpx.AsyncClient, noesis: Noesis, embedder: WordEmbedder
) -> None:
    await remember(noesis, "tea at four")
    embedder.down = True
    degraded = await admin.get("/?q=tea")
    assert "Answered by keyword only" in degraded.text
    assert "<mark>tea</mark>" in degraded.text
    refused = await admin.get("/?q=tea&mode=vector")
    assert refused.status_code == 503
    assert "/?q=tea&amp;mode=keyword" in refused.text


async def test_a_memory_without_a_vector_is_flagged(
    admin: httpx.AsyncClient, noesis: Noesis, embedder: WordEmbedder
) -> None:
    embedder.down = True
    memory_id = await remember(noesis, "stored in an outage")
    assert "words only" in (await admin.get("/")).text
    assert "found by words until it is made" in (await admin.get(f"/memories/{memory_id}")).text


async def test_more_hits_and_older_memories_are_one_link_away(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    for number in range(25):
        await remember(noesis, f"common number {number}", created_at=1_700_000_000_000 + number, ttl_days=0)
    newest = (await admin.get("/")).text
    older = newest.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    assert "number 4<" in (await admin.get(older)).text
    assert "number 5<" in newest
    assert "number 5<" not in (await admin.get(older)).text
    assert 'href="/?q=common&amp;limit=60"' in (await admin.get("/?q=common")).text
    assert "25 memories in" in (await admin.get("/?q=common&limit=60")).text
