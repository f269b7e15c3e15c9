"""Reads the few front matter fields that an import uses: plain values and lists of words.

Not a YAML parser on purpose: aliases and nesting are what makes one dangerous, and neither is needed.
"""

from __future__ import annotations

import msgspec

_LONGEST = 64 << 10
_CLOSERS = ("---", "...")


class FrontMatter(msgspec.Struct, frozen=True):
    """The fields at the outermost level, each as its list of values, and the number of lines it takes."""

    fields: dict[str, list[str]]
    lines: int

    def one(self, *names: str) -> str | None:
        """The first value of the first of these fields that has one."""
        return next((values[0] for name in names if (values := self.fields.get(name))), None)

    def many(self, name: str) -> list[str]:
        """All values of a field; `a, b` counts as two."""
        return [word.strip() for value in self.fields.get(name, ()) for word in value.split(",")]


def read_front_matter(text: str) -> FrontMatter:
    """The front matter at the start of a Markdown text; no fields and 0 lines when there is none."""
    head = text[:_LONGEST].removeprefix("\ufeff").splitlines()
    if not head or head[0].rstrip() != "---":
        return FrontMatter({}, 0)
    end = next((number for number, line in enumerate(head[1:], start=1) if line.rstrip() in _CLOSERS), None)
    return FrontMatter({}, 0) if end is None else FrontMatter(_fields(head[1:end]), end + 1)


def _fields(lines: list[str]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        bare = line.strip()
        if bare.startswith("- ") and name:
            fields[name].append(_unquoted(bare[2:]))
        elif not line[:1].isspace() and ":" in line and not bare.startswith("#"):
            name, _, value = (part.strip() for part in line.partition(":"))
            fields[name] = _values(value)
    return fields


def _values(value: str) -> list[str]:
    if value.startswith("[") and value.endswith("]"):
        return [word for part in value[1:-1].split(",") if (word := _unquoted(part))]
    return [word] if (word := _unquoted(value)) else []


def _unquoted(value: str) -> str:
    bare = value.strip()
    if len(bare) >= 2 and bare[0] == bare[-1] and bare[0] in "\"'":
        return bare[1:-1].strip()
    return bare
