"""The words of pages for values that the API names: memory types, roles, states, levels."""

from __future__ import annotations

from collections.abc import Mapping

from noesis.dashboard.catalogue import Key
from noesis.dashboard.translation import pgettext, pgettext_noop

MEANING = "meaning of a setting"
"""The context of the sentences that noesis/settings.py says about each setting."""

_KINDS = {
    "fact": pgettext_noop("memory type", "fact"),
    "decision": pgettext_noop("memory type", "decision"),
    "preference": pgettext_noop("memory type", "preference"),
    "context": pgettext_noop("memory type", "context"),
    "session": pgettext_noop("memory type", "session"),
}
_ROLES = {
    "agent": pgettext_noop("role", "agent"),
    "gateway": pgettext_noop("role", "gateway"),
    "admin": pgettext_noop("role", "admin"),
}
_LEVELS = {
    "info": pgettext_noop("level", "info"),
    "warning": pgettext_noop("level", "warning"),
    "error": pgettext_noop("level", "error"),
}
_EVENTS = {
    "backup": pgettext_noop("kind of event", "backup"),
    "cleanup": pgettext_noop("kind of event", "cleanup"),
    "drill": pgettext_noop("kind of event", "drill"),
    "import": pgettext_noop("kind of event", "import"),
    "quota": pgettext_noop("kind of event", "quota"),
    "recovery": pgettext_noop("kind of event", "recovery"),
    "reembed": pgettext_noop("kind of event", "reembed"),
    "restore": pgettext_noop("kind of event", "restore"),
    "scan": pgettext_noop("kind of event", "scan"),
    "snapshot": pgettext_noop("kind of event", "snapshot"),
    "source": pgettext_noop("kind of event", "source"),
    "upkeep": pgettext_noop("kind of event", "upkeep"),
    "verify": pgettext_noop("kind of event", "verify"),
    "watcher": pgettext_noop("kind of event", "watcher"),
}
_SETTINGS = {
    "not set": pgettext_noop("setting", "not set"),
    "set, not shown": pgettext_noop("setting", "set, not shown"),
}
_EMBEDDINGS = {
    "ready": pgettext_noop("vector", "ready"),
    "pending": pgettext_noop("vector", "pending"),
    "failed": pgettext_noop("vector", "failed"),
}
_HEALTHS = {
    "ok": pgettext_noop("health", "ok"),
    "degraded": pgettext_noop("health", "degraded"),
    "down": pgettext_noop("health", "down"),
}
_PARTS = {
    "store": pgettext_noop("part of the system", "store"),
    "embedder": pgettext_noop("part of the system", "embedder"),
    "queue": pgettext_noop("part of the system", "queue"),
    "worker": pgettext_noop("part of the system", "worker"),
    "disk": pgettext_noop("part of the system", "disk"),
    "access": pgettext_noop("part of the system", "access"),
    "sources": pgettext_noop("part of the system", "sources"),
    "backups": pgettext_noop("part of the system", "backups"),
    "cleanup": pgettext_noop("part of the system", "cleanup"),
    "quotas": pgettext_noop("part of the system", "quotas"),
    "upkeep": pgettext_noop("part of the system", "upkeep"),
}
_JOB_STATES = {
    "queued": pgettext_noop("job", "queued"),
    "running": pgettext_noop("job", "running"),
    "succeeded": pgettext_noop("job", "done"),
    "failed": pgettext_noop("job", "failed"),
    "cancelled": pgettext_noop("job", "cancelled"),
}
_ACTORS = {
    "administrator": pgettext_noop("actor", "administrator"),
    "cleanup": pgettext_noop("actor", "cleanup"),
}
_FIGURES = {
    "accepted": pgettext_noop("figure of a job", "accepted"),
    "archived": pgettext_noop("figure of a job", "archived"),
    "branch": pgettext_noop("figure of a job", "branch"),
    "bytes": pgettext_noop("figure of a job", "bytes"),
    "carried": pgettext_noop("figure of a job", "carried"),
    "caught_up": pgettext_noop("figure of a job", "caught up"),
    "changed": pgettext_noop("figure of a job", "changed"),
    "checked": pgettext_noop("figure of a job", "checked"),
    "chunks": pgettext_noop("figure of a job", "chunks"),
    "commit": pgettext_noop("figure of a job", "commit"),
    "dimension": pgettext_noop("figure of a job", "dimension"),
    "duplicates": pgettext_noop("figure of a job", "duplicates"),
    "embedded": pgettext_noop("figure of a job", "embedded"),
    "errors": pgettext_noop("figure of a job", "errors"),
    "exact": pgettext_noop("figure of a job", "exact"),
    "failed": pgettext_noop("figure of a job", "failed"),
    "files": pgettext_noop("figure of a job", "files"),
    "forgotten": pgettext_noop("figure of a job", "forgotten"),
    "generation": pgettext_noop("figure of a job", "generation"),
    "gone": pgettext_noop("figure of a job", "gone"),
    "held": pgettext_noop("figure of a job", "held"),
    "held_purge": pgettext_noop("figure of a job", "held purge"),
    "indexed": pgettext_noop("figure of a job", "indexed"),
    "kept": pgettext_noop("figure of a job", "kept"),
    "known": pgettext_noop("figure of a job", "known"),
    "left_out": pgettext_noop("figure of a job", "left out"),
    "lost": pgettext_noop("figure of a job", "lost"),
    "memories": pgettext_noop("figure of a job", "memories"),
    "model": pgettext_noop("figure of a job", "model"),
    "near": pgettext_noop("figure of a job", "near"),
    "newer": pgettext_noop("figure of a job", "newer"),
    "on_disk": pgettext_noop("figure of a job", "on disk"),
    "optimized": pgettext_noop("figure of a job", "optimized"),
    "previous": pgettext_noop("figure of a job", "previous"),
    "purged": pgettext_noop("figure of a job", "purged"),
    "queries": pgettext_noop("figure of a job", "queries"),
    "read": pgettext_noop("figure of a job", "read"),
    "refused": pgettext_noop("figure of a job", "refused"),
    "removed": pgettext_noop("figure of a job", "removed"),
    "renamed": pgettext_noop("figure of a job", "renamed"),
    "renewed": pgettext_noop("figure of a job", "renewed"),
    "restored": pgettext_noop("figure of a job", "restored"),
    "rows": pgettext_noop("figure of a job", "rows"),
    "same": pgettext_noop("figure of a job", "same"),
    "size": pgettext_noop("figure of a job", "size"),
    "skipped": pgettext_noop("figure of a job", "skipped"),
    "sources": pgettext_noop("figure of a job", "sources"),
    "stored": pgettext_noop("figure of a job", "stored"),
    "swept": pgettext_noop("figure of a job", "swept"),
    "unchanged": pgettext_noop("figure of a job", "unchanged"),
    "waiting": pgettext_noop("figure of a job", "waiting"),
}
_SCORE_PARTS = {
    "meaning": pgettext_noop("part of a score", "meaning"),
    "words": pgettext_noop("part of a score", "words"),
    "both": pgettext_noop("part of a score", "both"),
    "neighbours": pgettext_noop("part of a score", "neighbours"),
    "session": pgettext_noop("part of a score", "session"),
    "speaker": pgettext_noop("part of a score", "speaker"),
    "form": pgettext_noop("part of a score", "form"),
    "priority": pgettext_noop("part of a score", "priority"),
    "recency": pgettext_noop("part of a score", "recency"),
    "own agent": pgettext_noop("part of a score", "own agent"),
    "start": pgettext_noop("part of a score", "start"),
}
_FIELDS = {
    "text": pgettext_noop("field of a memory", "text"),
    "memory_type": pgettext_noop("field of a memory", "type"),
    "expires_at": pgettext_noop("field of a memory", "expires"),
    "session_id": pgettext_noop("field of a memory", "session"),
    "created_at": pgettext_noop("field of a memory", "created"),
    "priority": pgettext_noop("field of a memory", "priority"),
    "tags": pgettext_noop("field of a memory", "tags"),
    "source": pgettext_noop("field of a memory", "source"),
}


def kind_words(kind: str) -> str:
    """A memory type; any other name as it is."""
    return _said(_KINDS, kind)


def role_words(role: str) -> str:
    """The role of a token."""
    return _said(_ROLES, role)


def level_words(level: str) -> str:
    """How grave an event is."""
    return _said(_LEVELS, level)


def event_words(kind: str) -> str:
    """What an event of the log is about."""
    return _said(_EVENTS, kind, kind.replace("_", " "))


def setting_words(value: str) -> str:
    """The value of a setting, where the page says something about it instead."""
    return _said(_SETTINGS, value)


def setting_meaning(text: str) -> str:
    """What a setting means."""
    return pgettext(MEANING, text.replace("%", "%%"))


def embedding_words(state: str) -> str:
    """How memories stand to their vectors."""
    return _said(_EMBEDDINGS, state)


def health_words(state: str) -> str:
    """How a part of the system is."""
    return _said(_HEALTHS, state)


def part_words(part: str) -> str:
    """A part of the system."""
    return _said(_PARTS, part)


def job_state_words(state: str) -> str:
    """How a job ended, or stands."""
    return _said(_JOB_STATES, state)


def actor_words(actor: str) -> str:
    """Who did something; a name of somebody's own as it is."""
    return _said(_ACTORS, actor)


def figure_words(name: str) -> str:
    """A figure of what came of a job."""
    return _said(_FIGURES, name, name.replace("_", " "))


def score_part_words(part: str) -> str:
    """What a part of a score looked at."""
    return _said(_SCORE_PARTS, part)


def field_words(field: str) -> str:
    """A field of a memory."""
    return _said(_FIELDS, field)


def _said(words: Mapping[str, Key], name: str, otherwise: str | None = None) -> str:
    key = words.get(name)
    if key is None:
        return name if otherwise is None else otherwise
    return pgettext(*key)
