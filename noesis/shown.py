"""How the command line shows answers to a person."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any


def show_hits(answer: dict[str, Any]) -> str:
    """Search hits with their scores, and a note when a leg was missing."""
    count = len(answer["hits"])
    lines = [f"{count} {'memory' if count == 1 else 'memories'} in {answer['took_ms']:.0f} ms"]
    if answer["degraded"]:
        lines.append(f"Note: {answer['reason']}")
    if not answer["hits"]:
        lines.append("Nothing fits. Try other words, or --archive always.")
    for hit in answer["hits"]:
        lines.append("")
        lines.append(_line(hit, f"{hit['score']:.2f} "))
        if "explanation" in hit:
            parts = hit["explanation"]["contributions"]
            lines.append("  why: " + ", ".join(f"{name} {value:+.2f}" for name, value in parts.items()))
        lines.append(_text(hit["text"]))
    return "\n".join(lines)


def show_verdict(verdict: dict[str, Any]) -> str:
    """Where a memory dropped out of a search, and what would bring it back."""
    lines = [f"{verdict['stage']}: {verdict['reason']}"]
    if verdict["remedy"]:
        lines.append(verdict["remedy"])
    if verdict["rank"]:
        lines.append(f"Candidate {verdict['rank']} of {verdict['candidates']}, score {verdict['score']:.2f}.")
    return "\n".join(lines)


def show_memories(memories: Sequence[dict[str, Any]]) -> str:
    """A list of memories."""
    if not memories:
        return "There are no memories yet. Store one with: noesis index 'some text' --agent NAME"
    return "\n\n".join(f"{_line(memory)}\n{_text(memory['text'])}" for memory in memories)


def show_memory(memory: dict[str, Any]) -> str:
    """One memory whole, with everything that is known of it."""
    facts = [
        (name, value) for name, value in memory.items() if name != "text" and value not in (None, [], "")
    ]
    width = max(len(name) for name, _ in facts)
    lines = [
        f"{name:<{width}}  {', '.join(value) if isinstance(value, list) else value}" for name, value in facts
    ]
    return "\n".join([*lines, "", memory["text"]])


def show_stats(stats: dict[str, Any]) -> str:
    """Counts."""
    lines = [f"memories: {stats['active']['memories']:,}, archived: {stats['archive']['memories']:,}"]
    for title, key in (("by type", "by_type"), ("by agent", "by_agent"), ("by priority", "by_priority")):
        counts = {name: count for name, count in stats["active"][key].items() if count}
        if counts:
            lines.append(f"{title}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items()))
    waiting = stats["active"]["by_embedding_state"]
    if waiting["pending"] or waiting["failed"]:
        lines.append(f"vectors: {waiting['pending']:,} waiting, {waiting['failed']:,} failed")
    if stats["redacted"]:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in stats["redacted"].items())
        lines.append(f"secrets taken out: {kinds}")
    uses = stats["uses"]
    if uses["most"]:
        lines.append(
            "used most: " + ", ".join(f"{_title(each['text'])} ({_uses(each)})" for each in uses["most"][:3])
        )
        lines.append(f"never used: {uses['never']:,}")
    if stats["disk"]:
        disk = stats["disk"]
        lines.append(f"disk: {disk['bytes'] / 2**20:.1f} MB in {disk['fragments']} fragments")
    return "\n".join(lines)


def _title(text: str) -> str:
    return textwrap.shorten(text, 40, placeholder=" …")


def _uses(used: dict[str, Any]) -> int:
    return int(used["search"] + used["recall"] + used["assemble"])


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows under their headings; the last column wraps."""
    table = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(columns, *table, strict=True)]
    lines = ["  ".join(f"{name:<{width}}" for name, width in zip(columns, widths, strict=True)).rstrip()]
    lines += [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join(lines)


def _line(memory: dict[str, Any], before: str = "") -> str:
    archived = " archived" if memory["archived"] else ""
    return f"{before}[{memory['memory_type']}]{archived} {memory['agent_id']} {memory['created_at'][:10]} {memory['id']}"


def _text(text: str) -> str:
    width = min(100, shutil.get_terminal_size().columns - 2)
    return (
        textwrap.indent(textwrap.shorten(text, 400, placeholder=" …"), "  ")
        if width < 20
        else "\n".join(
            textwrap.wrap(
                textwrap.shorten(text, 400, placeholder=" …"),
                width,
                initial_indent="  ",
                subsequent_indent="  ",
            )
        )
    )


def show_sources(answer: dict[str, Any]) -> str:
    """The places that are followed."""
    if not answer["sources"]:
        return "No folder is followed. Add one with: noesis source add /path/to/notes --agent NAME"
    columns = ("key", "agent", "label", "kind", "found by", "state", "path")
    rows = [
        [
            each["key"],
            each["agent_id"],
            each["label"],
            each["kind"],
            each["found_by"],
            each["note"] or (f"{each['held']} vanished" if each["held"] else "ok"),
            each["path"],
        ]
        for each in answer["sources"]
    ]
    problems = [f"Not looked at: {problem}" for problem in answer["problems"]]
    return "\n".join([show_table(columns, rows), *problems])


def show_freshness(answer: dict[str, Any]) -> str:
    """How far memory is behind its files."""
    watcher = answer["watcher"]
    lines = [f"watcher: {watcher['mode']}" + (f" ({watcher['reason']})" if watcher["reason"] else "")]
    columns = ("label", "agent", "on disk", "indexed", "waiting", "gone", "refused", "failed")
    rows = [
        [
            each["source"]["label"],
            each["source"]["agent_id"],
            *(str(each[name]) for name in ("on_disk", "indexed", "waiting", "gone", "refused", "failed")),
        ]
        for each in answer["sources"]
    ]
    if rows:
        lines.append(show_table(columns, rows))
    lines += [
        f"{each['source']['label']}/{problem['path']}: {problem['reason']}"
        for each in answer["sources"]
        for problem in each["problems"]
    ]
    lines.append("Everything is in memory." if answer["clean"] else "Memory is behind its files.")
    return "\n".join(lines)


def show_inbox(answer: dict[str, Any]) -> str:
    """What waits for a person."""
    if not answer["waiting"]:
        return "Nothing waits."
    shown = [
        f"{each['id']}  {each['memory_type']}  {each['agent_id']}  {', '.join(each['reasons'])}\n{_text(each['text'])}"
        for each in answer["waiting"]
    ]
    return "\n\n".join([f"{answer['total']} waiting", *shown])
