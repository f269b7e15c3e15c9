"""JSON schemas of the tools' arguments, each whole in itself: some hosts follow no references."""

from __future__ import annotations

from typing import Any

import msgspec

from noesis.errors import InvalidInput
from noesis.mcp.arguments import Arguments

Schema = dict[str, Any]

_MAX_SHOWN = 64


def schema_of(kind: type[Arguments]) -> Schema:
    """The JSON schema of a tool's arguments."""
    (_,), parts = msgspec.json.schema_components([kind], ref_template="{name}")
    schema = _plain(parts[kind.__name__])
    return {
        "type": "object",
        "properties": schema.get("properties", {}),
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def decode(arguments: dict[str, Any] | None, kind: type[Arguments]) -> Arguments:
    """The arguments that a model gave.  Raises InvalidInput, which names the field and repeats no value."""
    try:
        return msgspec.convert(arguments or {}, kind)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `")
        field = place.rstrip("`").removeprefix("$").removeprefix(".")
        if problem.startswith("Invalid enum value"):
            problem = "This is not one of the allowed values"
        raise InvalidInput(f"{f'{field[:_MAX_SHOWN]}: ' if field else ''}{problem}.") from error
    except RecursionError as error:
        raise InvalidInput("The arguments are nested too deeply.") from error


def _plain(schema: Any) -> Any:
    """Without titles and without a null that only says "not given": a model takes it for a value."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _plain(value) for name, value in schema.items() if name != "title"}
    choices = kept.get("anyOf")
    if choices and {"type": "null"} in choices:
        others = [each for each in choices if each != {"type": "null"}]
        if len(others) == 1:
            kept.pop("anyOf")
            kept = {**others[0], **kept}
    if "enum" in kept:
        kept.setdefault("type", "string")
    if kept.get("default", 0) is None:
        kept.pop("default")
    return kept
