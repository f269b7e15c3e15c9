"""What is captured from a turn, as which type, and how well that goes on labelled messages."""

import time
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.memory import MemoryType
from noesis.text.capture import MOST_PIECES, Captured, captured
from noesis.text.recalled_block import MARKER, closing_line, opening_line
from noesis.turns import Turn
from tests.text.capture_figures import KINDS, measure, read_labelled

MEGABYTE = 1_000_000
# Five times what is needed; a pattern that is not linear takes minutes.
PATIENCE_SECONDS = 2.5

LABELLED = read_labelled()


def capture(text: str, role: str = "user") -> Captured:
    return captured(Turn(session_id="s", number=0, role=role, text=text))


def kept(text: str, role: str = "user") -> list[tuple[str, str]]:
    return [(piece.memory_type.value, piece.text) for piece in capture(text, role).pieces]


def test_chatter_is_not_memory_and_the_decision_among_it_is() -> None:
    session = [
        ("assistant", "HEARTBEAT_OK"),
        ("assistant", "NO_REPLY"),
        ("user", "we decided to host the wiki on port 8085"),
        ("user", "ugh why does this never work"),
        ("assistant", "Sure! I'll look at the file now."),
        ("tool", "\n".join(f"line {number}: we decided nothing" for number in range(400))),
        ("assistant", "HEARTBEAT_OK"),
    ]
    found = [piece for role, text in session for piece in capture(text, role).pieces]
    assert [(piece.memory_type, piece.text) for piece in found] == [
        (MemoryType.DECISION, "we decided to host the wiki on port 8085")
    ]
    assert found[0].memory_type.default_priority == 85
    assert found[0].rule == "en.decision"


def test_recalled_text_is_not_captured_again() -> None:
    """Ten turns with the block before the question and quoted in the answer add nothing."""
    decisions = ("we decided on oak", "we host the wiki on port 8085", "Decision: weekly releases")
    for number in range(10):
        block = "\n".join(
            (
                opening_line(f"random-{number}"),
                *(f"- {text}" for text in decisions),
                closing_line(f"random-{number}"),
            )
        )
        assert kept(f"{block}\n\nWhat is next?") == []
        assert kept(f"From memory:\n{block}", "assistant") == []
    assert capture(f"{block}\n").left_out == "recalled"


def test_a_new_sentence_beside_a_recalled_block_is_captured() -> None:
    block = f"{opening_line('abcdefgh')}\nwe decided on oak\n{closing_line('abcdefgh')}"
    assert kept(f"{block}\nWe decided to take ash instead.") == [
        ("decision", "We decided to take ash instead.")
    ]


def test_a_text_that_mentions_the_marker_once_is_kept() -> None:
    text = f"We decided that the {MARKER} block goes before the question."
    assert kept(text) == [("decision", text)]


def test_a_message_gives_a_piece_for_each_thing_it_says() -> None:
    text = "Thanks, that works. We decided to use Postgres. I prefer dark mode. My sister's birthday is on 4 May."
    assert kept(text) == [
        ("decision", "We decided to use Postgres."),
        ("preference", "I prefer dark mode."),
        ("fact", "My sister's birthday is on 4 May."),
    ]


def test_equal_pieces_of_a_message_are_one() -> None:
    assert len(kept("We decided to use Postgres. We decided to use Postgres.")) == 1


def test_list_items_lose_their_bullet_and_those_under_a_heading_gain_its_word() -> None:
    text = "## Decisions\n- Postgres 16 for billing\n- [x] weekly releases\n\n## Preferences:\n1. dark mode everywhere"
    assert kept(text) == [
        ("decision", "Decision: Postgres 16 for billing"),
        ("decision", "Decision: weekly releases"),
        ("preference", "Preference: dark mode everywhere"),
    ]


def test_a_sentence_that_leans_on_the_one_before_takes_it_along() -> None:
    assert kept("The blue tiles came yesterday. We decided to return them.") == [
        ("decision", "The blue tiles came yesterday. We decided to return them.")
    ]


def test_a_sentence_joined_to_another_piece_makes_one_with_it() -> None:
    text = "The staging database is called heron-2. We decided to keep it."
    assert kept(text) == [("decision", text)]


def test_a_full_stop_that_ends_no_sentence_cuts_none() -> None:
    for text in (
        "We decided with Mr. Novak to wait, e.g. until the 3. of May.",
        "Der Vertrag läuft bis zum 30. September.",
    ):
        assert [piece for _, piece in kept(text)] == [text]


def test_a_line_that_a_margin_cut_is_put_together() -> None:
    text = "After the long call with Mara this morning we decided to move the\nrelease to Tuesday."
    assert kept(text) == [("decision", text.replace("\n", " "))]


def test_code_logs_and_quotations_around_a_decision_are_not_read() -> None:
    text = (
        "> we decided to use Mongo\n\nWe decided to use Postgres.\n```\nwe decided to use SQLite\n```\n"
        "2026-11-29 18:22:01 INFO we decided to restart\n| we decided | on a table |"
    )
    assert kept(text) == [("decision", "We decided to use Postgres.")]


@pytest.mark.parametrize(
    "text",
    [
        "ok let's go with B",
        "Decision: 3 rooms for the office",
        'Decision: "heron" as the name of the host',
        "WARNING we decided to close the shop",
    ],
)
def test_a_line_that_only_begins_like_a_machines_is_read(text: str) -> None:
    assert [kind for kind, _ in kept(text)] == ["decision"]


@pytest.mark.parametrize("word", ["likely", "elastic", "unlike", "alike", "preferable", "undecided"])
def test_a_cue_inside_another_word_is_none(word: str) -> None:
    assert kept(f"that is {word} the thing") == []


@pytest.mark.parametrize(
    "text",
    [
        "if we decided to use Kafka we would need help",
        "Should we go with the blue tiles?",
        "maybe we could go with Postgres",
        "> we decided to use MongoDB",
        "We haven't decided on a name.",
        "ugh why does this never work",
        "it always crashes",
        'she said "we decided to leave"',
    ],
)
def test_hypotheticals_questions_quotes_and_complaints_give_nothing(text: str) -> None:
    assert kept(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Could you always answer in British English?",
        "Would you please never call before nine?",
        "Kannst du bitte immer Deutsch schreiben?",
    ],
)
def test_a_standing_wish_may_be_put_as_a_question(text: str) -> None:
    assert kept(text) == [("preference", text)]


def test_a_decision_against_something_is_one() -> None:
    assert kept("We decided not to use Kafka.") == [("decision", "We decided not to use Kafka.")]


def test_a_doubt_before_but_does_not_unsay_what_follows() -> None:
    text = "Maybe we revisit this later, but for now we decided to use Postgres."
    assert kept(text) == [("decision", text)]


@pytest.mark.parametrize(
    ("text", "as_user"),
    [
        ("I prefer the second variant.", "preference"),
        ("Let's go with option B.", "decision"),
        ("Our wiki runs on port 8085.", "fact"),
        ("I'm working on the migration of the billing service this week.", "context"),
    ],
)
def test_what_counts_from_a_user_does_not_from_an_assistant(text: str, as_user: str) -> None:
    assert kept(text) == [(as_user, text)]
    assert kept(text, "assistant") == []


def test_an_assistants_joint_decision_and_report_of_work_count() -> None:
    assert kept(
        "Understood. We agreed to freeze deployments. I've moved the config to /etc/wiki.", "assistant"
    ) == [
        ("decision", "We agreed to freeze deployments."),
        ("fact", "I've moved the config to /etc/wiki."),
    ]


def test_a_summary_is_kept_whole_and_its_decisions_apart() -> None:
    text = "Session summary: tiles compared.\nWe decided to take the blue tiles."
    assert kept(text, "assistant") == [("session", text), ("decision", "We decided to take the blue tiles.")]


def test_a_message_without_anything_to_keep_says_why() -> None:
    assert capture("What is the deploy target?").left_out == "question only"
    assert capture("The weather is awful again.").left_out == "nothing to keep"
    assert capture("some words of an article\n" * 4_000).left_out == "too long"
    assert capture("we decided to use oak").left_out is None


def test_the_end_of_a_long_paste_is_read_as_its_beginning_is() -> None:
    paste = "some words of an article that go on\n" * 20_000
    text = f"We decided to use oak.\n{paste}We decided to use ash."
    assert kept(text) == [("decision", "We decided to use oak."), ("decision", "We decided to use ash.")]


def test_one_turn_gives_so_many_memories_at_most() -> None:
    text = "\n".join(f"- We decided to use board {number}." for number in range(200))
    assert len(capture(text).pieces) == MOST_PIECES


def test_composed_and_decomposed_text_gives_the_same_and_emoji_survive() -> None:
    text = "Wir haben beschlossen, nach Köln zu fahren 👩‍👩‍👧"
    assert kept(unicodedata.normalize("NFD", text)) == kept(text) == [("decision", text)]
    full_width = "We decided to use ｐｏｓｔｇｒｅｓ."
    assert kept(full_width) == [("decision", full_width)]


def test_capturing_a_piece_gives_it_again() -> None:
    pieces = [(piece, item.role) for item in LABELLED for piece in capture(item.text, item.role).pieces]
    assert len(pieces) > 300
    for piece, role in pieces:
        again = [found for found in capture(piece.text, role).pieces if found.text == piece.text]
        assert [found.memory_type for found in again] == [piece.memory_type], piece


HOSTILE = (
    *("a", " ", "\n", "ä", '"', "`", "*", "[", "{", "?", "://a", "eyJ", "-----BEGIN PRIVATE KEY-----\n"),
    *("a. ", "1. ", "mr. ", "and ", "ok, ", "thanks ", "- a list item of some length\n", "> q\n", "```\n"),
    *("we decided to use x. ", "if we decided ", "I prefer x. ", "i really really ", "I like the a at "),
    *(
        "my our the ",
        "from now on ",
        "The Ab Cd is ",
        "The a b c 4. ",
        "wir haben ",
        "ich finde a b ",
        "Der a ist ",
    ),
)


@pytest.mark.parametrize("part", HOSTILE)
def test_a_megabyte_of_anything_is_captured_in_time(part: str) -> None:
    text = (part * (MEGABYTE // len(part) + 1))[:MEGABYTE]
    start = time.process_time()
    assert len(capture(text).pieces) <= MOST_PIECES
    assert time.process_time() - start < PATIENCE_SECONDS


WORDS = st.sampled_from(
    (
        "we decided to ",
        "I prefer ",
        "if ",
        ". ",
        "? ",
        "\n",
        "- ",
        "> ",
        "## Decisions\n",
        "```\n",
        "it ",
        "“",
        "\ud800",
        "’",
    )
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(WORDS | st.text(max_size=12), max_size=14).map("".join),
    st.sampled_from(("user", "assistant", "tool", "system", "other")),
)
def test_no_input_raises(text: str, role: str) -> None:
    found = capture(text, role)
    assert (found.left_out is None) == bool(found.pieces)


def test_the_labelled_messages_are_many_and_mixed() -> None:
    expected = Counter(item.expect for item in LABELLED)
    assert len(LABELLED) >= 420
    assert expected["none"] >= 0.35 * len(LABELLED)
    assert set(expected) == set(KINDS)
    assert len({(item.role, item.text) for item in LABELLED}) == len(LABELLED)


# (precision, recall), a few points under what the rules reach.
FLOORS = {
    "tuned": {
        "decision": (0.96, 0.94),
        "preference": (0.96, 0.94),
        "fact": (0.95, 0.94),
        "session": (0.95, 0.95),
        "context": (0.93, 0.94),
        "none": (0.95, 0.95),
    },
    None: {
        "decision": (0.95, 0.9),
        "preference": (0.95, 0.88),
        "fact": (0.9, 0.9),
        "session": (0.95, 0.9),
        "context": (0.85, 0.9),
        "none": (0.88, 0.93),
    },
}


@pytest.mark.parametrize("half", FLOORS, ids=str)
def test_precision_and_recall_stay_above_the_floor(half: str | None) -> None:
    figures = measure(item for item in LABELLED if half in (None, item.half))
    below = {
        kind: (round(figures[kind].precision, 3), round(figures[kind].recall, 3))
        for kind, (precision, recall) in FLOORS[half].items()
        if figures[kind].precision < precision or figures[kind].recall < recall
    }
    assert below == {}
