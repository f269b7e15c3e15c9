"""Filters for the store, built from typed parts only.

LanceDB takes filters as SQL text and has no bind parameters.  Column names come from the enum
below, values are quoted here, and nothing a caller sends is ever taken as SQL.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec

from noesis.errors import InvalidInput


class Column(enum.StrEnum):
    """The columns that a filter may name."""

    ID = "id"
    PARENT_ID = "parent_id"
    CHUNK = "chunk"
    AGENT_ID = "agent_id"
    SESSION_ID = "session_id"
    MEMORY_TYPE = "memory_type"
    KEYWORD_TEXT = "keyword_text"
    EMBEDDING_STATE = "embedding_state"
    EMBEDDING_RETRY_AT = "embedding_retry_at"
    PRIORITY = "priority"
    TAGS = "tags"
    SOURCE = "source"
    POSITION = "position"
    PLACE = "place"
    CHUNK_PLACE = "chunk_place"
    CONTENT_HASH = "content_hash"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"
    EXPIRES_AT = "expires_at"
    ARCHIVED_AT = "archived_at"
    ARCHIVE_REASON = "archive_reason"
    VECTOR = "vector"
    ROW_HASH = "row_hash"


class Condition(msgspec.Struct, frozen=True):
    """A finished condition; only the functions of this module make one."""

    sql: str

    def __and__(self, other: Condition) -> Condition:
        """Both conditions hold."""
        if not self.sql or not other.sql:
            return Condition(self.sql or other.sql)
        return Condition(f"{self.sql} AND {other.sql}")


EVERYTHING = Condition("")


def equals(column: Column, value: str | int) -> Condition:
    """The column has this value."""
    return Condition(f"{column.value} = {_literal(value)}")


def differs(column: Column, value: str | int) -> Condition:
    """The column has another value, or none."""
    return Condition(f"({column.value} IS NULL OR {column.value} <> {_literal(value)})")


def one_of(column: Column, values: Iterable[str | int]) -> Condition:
    """The column has one of these values."""
    literals = ", ".join(_literal(value) for value in values)
    return Condition(f"{column.value} IN ({literals})" if literals else "1 = 0")


def at_least(column: Column, value: int) -> Condition:
    """The column is this number or more."""
    return Condition(f"{column.value} >= {_literal(value)}")


def below(column: Column, value: int) -> Condition:
    """The column is less than this number."""
    return Condition(f"{column.value} < {_literal(value)}")


def at_most(column: Column, value: int) -> Condition:
    """The column is this number or less."""
    return Condition(f"{column.value} <= {_literal(value)}")


def above(column: Column, value: int) -> Condition:
    """The column is more than this number."""
    return Condition(f"{column.value} > {_literal(value)}")


def older_than(created_at: int, parent_id: str) -> Condition:
    """The rows that come after this one in the order newest first, then by id."""
    same, later = equals(Column.CREATED_AT, created_at), Condition(f"parent_id > {_literal(parent_id)}")
    return Condition(f"({below(Column.CREATED_AT, created_at).sql} OR ({(same & later).sql}))")


def either(*conditions: Condition) -> Condition:
    """At least one of these holds; none given holds never."""
    return Condition(
        "(" + " OR ".join(f"({each.sql})" for each in conditions) + ")" if conditions else "1 = 0"
    )


def is_set(column: Column) -> Condition:
    """The column has a value."""
    return Condition(f"{column.value} IS NOT NULL")


def has_all(column: Column, values: Iterable[str]) -> Condition:
    """The list in the column holds all of these values."""
    literals = ", ".join(_literal(value) for value in values)
    return Condition(f"array_has_all({column.value}, [{literals}])" if literals else "")


def _literal(value: str | int) -> str:
    if isinstance(value, int):
        return str(int(value))
    if "\x00" in value:
        raise InvalidInput("A filter value must not hold a NUL character.")
    # Doubling the quote is sufficient: the backslash is an ordinary character in this dialect.
    return "'" + value.replace("'", "''") + "'"
