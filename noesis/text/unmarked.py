"""A Markdown text for reading at a glance: headings, emphasis, code and links without their marks."""

from __future__ import annotations

import re2

_STEPS = (
    (re2.compile(r"(?m)^ {0,3}#{1,6}[ \t]+"), ""),
    (re2.compile(r"!?\[([^\[\]\n]+)\]\([^()\s]*\)"), r"\1"),
    (re2.compile(r"\*\*([^*\s](?:[^*\n]*[^*\s])?)\*\*"), r"\1"),
    (re2.compile(r"`([^`\n]+)`"), r"\1"),
)
"""Underscores stay: they are part of names far oftener than emphasis.  So do lists, which read well as they are."""


def unmarked(text: str) -> str:
    """The text without those marks; what stands in a pair of them stays, and so does a mark without its other half."""
    for pattern, kept in _STEPS:
        text = pattern.sub(kept, text)
    return text
