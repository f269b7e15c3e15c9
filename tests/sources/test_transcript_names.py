"""Which files of a transcripts folder are read."""

import pytest

from noesis.sources.transcript_names import TranscriptName, is_transcript, transcript_name, why_left_out

SID = "79f98b07-89b3-4b67-a2a5-ec166317dda3"


@pytest.mark.parametrize(
    ("name", "session", "finished", "compressed"),
    [
        (f"{SID}.jsonl", SID, False, False),
        (f"{SID}-topic-42.jsonl", f"{SID}-topic-42", False, False),
        (f"{SID}.jsonl.reset.2026-11-29T18-20-11.523Z", SID, True, False),
        (f"{SID}.jsonl.reset.2026-11-29T18-20-11.523Z.zst", SID, True, True),
        (f"{SID}.jsonl.deleted.2026-11-29T18-20-11.523Z.{'0' * 32}.zst", SID, True, True),
        (f"agent_main_main.{SID}.jsonl.imported-1795976833892", SID, True, False),
        (f"{'a' * 64}.jsonl.zst", "a" * 64, True, True),
        ("my.session.jsonl", "my.session", False, False),
    ],
)
def test_transcripts_count(name: str, session: str, finished: bool, compressed: bool) -> None:
    assert is_transcript(name)
    assert transcript_name(name) == TranscriptName(session, finished, compressed)


@pytest.mark.parametrize(
    "name",
    [
        f"{SID}.trajectory.jsonl",
        f"{SID}.trajectory.jsonl.deleted.2026-11-29T18-20-11.523Z.zst",
        f"{SID}.trajectory.jsonl.imported-1",
        f"{SID}.trajectory-path.json",
        f"{SID}.jsonl.lock",
        f"{SID}.checkpoint.{SID}.jsonl",
        f"{SID}.jsonl.checkpoint-3",
        f"{SID}.jsonl.bak-2026",
        f"{SID}.jsonl.tmp",
        f"{SID}.jsonl.reset.2026.zst.partial",
        "sessions.json",
        "legacy-store.sessions.json.imported-1",
        ".jsonl",
        "notes.md",
        f"{SID}.jsonl.imported-abc",
        f"{SID}.jsonl.deleted",
        "",
    ],
)
def test_others_are_left_out_with_a_reason(name: str) -> None:
    assert not is_transcript(name)
    assert why_left_out(name)


def test_the_reasons_tell_what_the_file_is() -> None:
    reasons = {
        why_left_out(f"s{end}") for end in (".trajectory.jsonl", ".jsonl.lock", ".checkpoint.1.jsonl", ".md")
    }
    assert len(reasons) == 4
    assert why_left_out("sessions.json") == "the host's list of sessions"
