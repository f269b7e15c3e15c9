"""Words for templates, without HTTP."""

from __future__ import annotations

import msgspec
import pytest

from noesis.dashboard import presenters, search_form, times
from noesis.dashboard.messages import message_of
from noesis.dashboard.search_form import SearchForm
from noesis.memory import (
    DAY_MS,
    NEVER,
    ArchiveUse,
    EmbeddingState,
    Explanation,
    Memory,
    MemoryType,
    Mode,
    SearchHit,
)

NOW = 1_800_000_000_000
MEMORY = Memory(
    id="0b0e2c1e-7a5c-5c2f-9a3b-1f6c8b0d9e11",
    agent_id="ops",
    session_id="s-1",
    memory_type=MemoryType.FACT,
    text="# Deploy notes\nfirst stop it",
    priority=30,
    priority_set_by="type",
    tags=("a", "b"),
    source=None,
    position=14,
    author=None,
    author_role=None,
    embedding_state=EmbeddingState.READY,
    embedding_reason=None,
    created_at=NOW - 3 * DAY_MS,
    updated_at=NOW,
    expires_at=NOW + 62 * DAY_MS,
    archived_at=None,
    archive_reason=None,
    chunks=1,
    content_hash="0" * 64,
)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (3599, "59 minutes ago"),
        (3600, "1 hour ago"),
        (86_400 * 1.99, "1 day ago"),
        (86_400 * 62, "62 days ago"),
        (86_400 * 100, "3 months ago"),
        (86_400 * 800, "2 years ago"),
        (-86_400 * 62, "in 62 days"),
        (-7200, "in 2 hours"),
    ],
)
def test_ages_are_said_in_one_unit(seconds: float, words: str) -> None:
    assert times.age(NOW - round(seconds * 1000), NOW) == words


def test_a_moment_says_it_in_words_and_exactly() -> None:
    assert presenters.moment(0, DAY_MS) == presenters.Moment(
        "1 day ago", "1970-01-01 00:00:00 UTC", "1970-01-01T00:00:00Z"
    )


def facts_of(memory: Memory) -> dict[str, str]:
    facts = presenters.detail(memory, NOW).facts
    return {fact.name: fact.moment.words if fact.moment else fact.value for fact in facts}


def test_metadata_is_told_in_words() -> None:
    facts = facts_of(MEMORY)
    assert facts["Expires"] == "in 62 days"
    assert facts["Priority"] == "30 (from its type)"
    assert facts["Created"] == "3 days ago"
    assert facts["Tags"] == "a, b"
    assert "Source" not in facts
    assert facts["Position"] == "14"


def test_what_has_run_out_is_told_apart_from_what_never_does() -> None:
    assert facts_of(msgspec.structs.replace(MEMORY, expires_at=NOW - DAY_MS))["Expired"] == "1 day ago"
    assert facts_of(msgspec.structs.replace(MEMORY, expires_at=NEVER))["Expires"] == "never"


def test_the_state_of_the_vector_comes_with_its_reason() -> None:
    waiting = msgspec.structs.replace(
        MEMORY, embedding_state=EmbeddingState.PENDING, embedding_reason="Ollama does not answer."
    )
    failed = msgspec.structs.replace(MEMORY, embedding_state=EmbeddingState.FAILED)
    assert "(Ollama does not answer.)" in presenters.embedding_words(waiting)
    assert "words only" in presenters.embedding_words(failed)


def test_deleted_and_archived_are_different_words() -> None:
    gone = msgspec.structs.replace(MEMORY, archived_at=NOW, archive_reason="deleted")
    old = msgspec.structs.replace(MEMORY, archived_at=NOW, archive_reason="expired")
    assert [presenters.archive_words(memory) for memory in (gone, old)] == [
        "Deleted",
        "Archived after expiry",
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Deploy notes\nfirst", "Deploy notes"),
        ("- item", "item"),
        ("***", "***"),
        ("x" * 200, "x" * 89 + "…"),
        ("short", "short"),
    ],
)
def test_a_title_is_the_first_line_without_its_marks(text: str, title: str) -> None:
    assert presenters.title_of(text) == title


def test_an_explanation_names_each_leg_and_what_it_added() -> None:
    explanation = Explanation(
        vector_rank=2,
        vector_score=0.61,
        keyword_rank=None,
        keyword_score=0.0,
        neighbour=False,
        rank=3,
        likeness=0.4,
        contributions={"start": -1.0, "meaning": 0.5, "words": 0.0, "session": 0.3, "priority": -0.02},
    )
    row = presenters.hit_row(SearchHit(MEMORY, 0.48, explanation), "deploy", NOW)
    assert [(part.name, part.seen, part.added) for part in row.parts] == [
        ("meaning", "rank 2, similarity 0.61", "+0.50"),
        ("words", "did not find it", "+0.00"),
        ("session", "how well its session fits", "+0.30"),
        ("priority", "how important it is", "-0.02"),
        ("start", "where every memory starts", "-1.00"),
    ]
    assert row.score == "0.48"
    assert ("Deploy", True) in list(row.fragments)


def test_counts_agree_with_their_noun() -> None:
    assert presenters.took(1, 0.2) == "1 memory in 1 ms"
    assert presenters.took(4, 8.4) == "4 memories in 8 ms"


def test_only_known_codes_say_something() -> None:
    assert message_of("edited") is not None
    assert message_of("<b>free text</b>") is None
    assert message_of(None) is None


def test_an_address_says_what_differs_from_the_standard_and_nothing_else() -> None:
    form = search_form.read({"q": " a b ", "archive": "auto", "mode": "hybrid", "said": "edited", "tag": "x"})
    assert search_form.address(form) == "/?q=a+b&tag=x"
    assert search_form.address(form, tag="", limit="60") == "/?q=a+b&limit=60"
    assert search_form.address(SearchForm()) == "/"


def test_an_address_becomes_a_query() -> None:
    parameters = {
        "q": "tea",
        "agent": "Ops",
        "type": "decision",
        "tag": "a, b",
        "after": "2026-05-04",
        "before": "2026-05-04",
        "archive": "never",
        "mode": "keyword",
        "limit": "60",
    }
    query = search_form.to_query(search_form.read(parameters))
    assert (query.agent, query.limit, query.explain) == ("ops", 60, True)
    assert (query.archive, query.mode) == (ArchiveUse.NEVER, Mode.KEYWORD)
    assert (query.filter.memory_types, query.filter.tags) == ((MemoryType.DECISION,), ("a", "b"))
    assert query.filter.after is not None
    assert query.filter.before == query.filter.after + DAY_MS
