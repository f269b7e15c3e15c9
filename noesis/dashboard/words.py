"""The words of pages for values that the API names: memory types, roles, states, levels."""

from __future__ import annotations

from noesis.dashboard.translation import pgettext


def kind_words(kind: str) -> str:
    """A memory type; any other name as it is."""
    words = {
        "fact": pgettext("memory type", "fact"),
        "decision": pgettext("memory type", "decision"),
        "preference": pgettext("memory type", "preference"),
        "context": pgettext("memory type", "context"),
        "session": pgettext("memory type", "session"),
    }
    return words.get(kind, kind)


def role_words(role: str) -> str:
    """The role of a token."""
    words = {
        "agent": pgettext("role", "agent"),
        "gateway": pgettext("role", "gateway"),
        "admin": pgettext("role", "admin"),
    }
    return words.get(role, role)


def level_words(level: str) -> str:
    """How grave an event is."""
    words = {
        "info": pgettext("level", "info"),
        "warning": pgettext("level", "warning"),
        "error": pgettext("level", "error"),
    }
    return words.get(level, level)


def embedding_words(state: str) -> str:
    """How memories stand to their vectors."""
    words = {
        "ready": pgettext("vector", "ready"),
        "pending": pgettext("vector", "pending"),
        "failed": pgettext("vector", "failed"),
    }
    return words.get(state, state)


def health_words(state: str) -> str:
    """How a part of the system is."""
    words = {
        "ok": pgettext("health", "ok"),
        "degraded": pgettext("health", "degraded"),
        "down": pgettext("health", "down"),
    }
    return words.get(state, state)


def part_words(part: str) -> str:
    """A part of the system."""
    words = {
        "store": pgettext("part of the system", "store"),
        "embedder": pgettext("part of the system", "embedder"),
        "queue": pgettext("part of the system", "queue"),
        "worker": pgettext("part of the system", "worker"),
        "disk": pgettext("part of the system", "disk"),
        "access": pgettext("part of the system", "access"),
        "sources": pgettext("part of the system", "sources"),
        "backups": pgettext("part of the system", "backups"),
        "cleanup": pgettext("part of the system", "cleanup"),
        "quotas": pgettext("part of the system", "quotas"),
        "upkeep": pgettext("part of the system", "upkeep"),
    }
    return words.get(part, part)


def job_state_words(state: str) -> str:
    """How a job ended, or stands."""
    words = {
        "queued": pgettext("job", "queued"),
        "running": pgettext("job", "running"),
        "succeeded": pgettext("job", "done"),
        "failed": pgettext("job", "failed"),
        "cancelled": pgettext("job", "cancelled"),
    }
    return words.get(state, state)


def actor_words(actor: str) -> str:
    """Who did something; a name of somebody's own as it is."""
    words = {"administrator": pgettext("actor", "administrator"), "cleanup": pgettext("actor", "cleanup")}
    return words.get(actor, actor)
