"""The API's OpenAPI document as values for the reference page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

Schema = Mapping[str, Any]

_METHODS = ("get", "post", "put", "patch", "delete")
_REF = "#/components/schemas/"
_SAMPLES = {"string": "…", "integer": 1, "number": 1.0, "boolean": True}
_ANSWERS = {
    "200": "done",
    "201": "stored",
    "202": "started",
    "204": "done, nothing to say",
    "400": "a value is wrong; the answer names its field",
}
_TITLES = {"system": "System", "admin": "Administration"}


class Field(msgspec.Struct, frozen=True):
    """A parameter or a field of a body; `place` is path, query, header or body."""

    name: str
    place: str
    kind: str
    required: bool
    about: str


class Answer(msgspec.Struct, frozen=True):
    """A status an operation answers with, and the names of the fields in it."""

    status: str
    about: str
    fields: tuple[str, ...]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method at one path; `anchor` names it in an address, `curl` calls it."""

    anchor: str
    method: str
    path: str
    summary: str
    about: str
    fields: tuple[Field, ...]
    answers: tuple[Answer, ...]
    curl: str


class Group(msgspec.Struct, frozen=True):
    """The operations of one tag."""

    name: str
    title: str
    operations: tuple[Operation, ...]


def groups(document: Schema, base_url: str) -> tuple[Group, ...]:
    """Every operation of an OpenAPI document, by tag, in the document's order."""
    components = document.get("components", {}).get("schemas", {})
    found: dict[str, list[Operation]] = {}
    for path, item in document.get("paths", {}).items():
        for method in _METHODS:
            if method in item:
                tag = next(iter(item[method].get("tags") or ()), "other")
                found.setdefault(tag, []).append(_operation(path, method, item[method], components, base_url))
    return tuple(
        Group(name, _TITLES.get(name, name.capitalize()), tuple(operations))
        for name, operations in found.items()
    )


def _operation(path: str, method: str, item: Schema, components: Schema, base_url: str) -> Operation:
    body = _body(item, components)
    properties = _fields_of(body, components)
    summary = item.get("summary", "")
    about = item.get("description", "")
    return Operation(
        anchor=f"{method}{path}".replace("/", "-").replace("{", "").replace("}", ""),
        method=method.upper(),
        path=path,
        summary=summary,
        about="" if about == summary else about,
        fields=(*(_parameter(entry, components) for entry in item.get("parameters", ())), *properties),
        answers=tuple(
            _answer(status, entry, components) for status, entry in sorted(item.get("responses", {}).items())
        ),
        curl=curl(method, path, _sample(body, components), base_url),
    )


def _body(item: Schema, components: Schema) -> Schema:
    content = item.get("requestBody", {}).get("content", {})
    media: Schema = next(iter(content.values()), {})
    return resolved(media.get("schema", {}), components)


def _parameter(entry: Schema, components: Schema) -> Field:
    schema = entry.get("schema", {})
    about = entry.get("description") or schema.get("description") or ""
    return Field(entry["name"], entry["in"], kind_of(schema, components), entry.get("required", False), about)


def _fields_of(schema: Schema, components: Schema) -> list[Field]:
    required = schema.get("required", ())
    return [
        Field(name, "body", kind_of(value, components), name in required, value.get("description", ""))
        for name, value in schema.get("properties", {}).items()
    ]


def _answer(status: str, entry: Schema, components: Schema) -> Answer:
    content: Schema = next(iter(entry.get("content", {}).values()), {})
    schema = resolved(content.get("schema", {}), components)
    about = _ANSWERS.get(status) or entry.get("description", "")
    # Every error is the same problem document, which the page tells of once.
    fields = tuple(schema.get("properties", {})) if status.startswith("2") else ()
    return Answer(status, about, fields)


def resolved(schema: Schema, components: Schema) -> Schema:
    """The schema that a reference names, or the schema itself."""
    reference = schema.get("$ref", "")
    if reference.startswith(_REF):
        found: Schema = components.get(reference.removeprefix(_REF), {})
        return found
    return schema


def kind_of(schema: Schema, components: Schema) -> str:
    """A schema's type in words: `string`, `list of string`, `one of "fact", "decision"`, `integer or null`."""
    schema = resolved(schema, components)
    for word in ("oneOf", "anyOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(kind_of(part, components) for part in schema[word]))
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(str(part) for part in kind)
    if kind == "array":
        return f"list of {kind_of(schema.get('items', {}), components)}"
    return "time (RFC 3339)" if schema.get("format") == "date-time" else str(kind)


def _sample(schema: Schema, components: Schema) -> dict[str, Any]:
    """A body with the required fields, or the first one when none is."""
    properties = schema.get("properties", {})
    names = list(schema.get("required", ())) or list(properties)[:1]
    return {name: sample_value(properties.get(name, {}), components) for name in names}


def sample_value(schema: Schema, components: Schema) -> Any:
    """A value that fits the schema."""
    schema = resolved(schema, components)
    for word in ("oneOf", "anyOf", "allOf"):
        if word in schema:
            return sample_value(schema[word][0], components)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("format") == "date-time":
        return "2026-05-04T10:00:00Z"
    kind = schema.get("type")
    if kind == "array":
        return [sample_value(schema.get("items", {}), components)]
    return _SAMPLES.get(str(kind), {})


def curl(method: str, path: str, body: Mapping[str, Any], base_url: str) -> str:
    """A command line that calls the operation with the token in $NOESIS_TOKEN."""
    verb = "" if method == "get" else f"-X {method.upper()} "
    lines = [f'curl {verb}"{base_url}{path}"', '-H "Authorization: Bearer $NOESIS_TOKEN"']
    if body:
        lines += ['-H "Content-Type: application/json"', f"-d '{json.dumps(body, ensure_ascii=False)}'"]
    return " \\\n  ".join(lines)
