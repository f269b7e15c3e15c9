"""The words of pages for values that the API names: memory types, roles, states, levels."""

from __future__ import annotations

from noesis.dashboard.translation import pgettext

MEANING = "meaning of a setting"
"""The context of the sentences that noesis/settings.py says about each setting."""


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


def event_words(kind: str) -> str:
    """What an event of the log is about."""
    words = {
        "backup": pgettext("kind of event", "backup"),
        "cleanup": pgettext("kind of event", "cleanup"),
        "drill": pgettext("kind of event", "drill"),
        "import": pgettext("kind of event", "import"),
        "quota": pgettext("kind of event", "quota"),
        "recovery": pgettext("kind of event", "recovery"),
        "reembed": pgettext("kind of event", "reembed"),
        "restore": pgettext("kind of event", "restore"),
        "scan": pgettext("kind of event", "scan"),
        "snapshot": pgettext("kind of event", "snapshot"),
        "source": pgettext("kind of event", "source"),
        "upkeep": pgettext("kind of event", "upkeep"),
        "verify": pgettext("kind of event", "verify"),
        "watcher": pgettext("kind of event", "watcher"),
    }
    return words.get(kind, kind.replace("_", " "))


def setting_words(value: str) -> str:
    """The value of a setting, where the page says something about it instead."""
    words = {
        "not set": pgettext("setting", "not set"),
        "set, not shown": pgettext("setting", "set, not shown"),
    }
    return words.get(value, value)


def setting_meaning(text: str) -> str:
    """What a setting means."""
    return pgettext(MEANING, text.replace("%", "%%"))


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


def figure_words(name: str) -> str:
    """A figure of what came of a job."""
    words = {
        "accepted": pgettext("figure of a job", "accepted"),
        "archived": pgettext("figure of a job", "archived"),
        "branch": pgettext("figure of a job", "branch"),
        "bytes": pgettext("figure of a job", "bytes"),
        "carried": pgettext("figure of a job", "carried"),
        "caught_up": pgettext("figure of a job", "caught up"),
        "changed": pgettext("figure of a job", "changed"),
        "checked": pgettext("figure of a job", "checked"),
        "chunks": pgettext("figure of a job", "chunks"),
        "commit": pgettext("figure of a job", "commit"),
        "dimension": pgettext("figure of a job", "dimension"),
        "duplicates": pgettext("figure of a job", "duplicates"),
        "embedded": pgettext("figure of a job", "embedded"),
        "errors": pgettext("figure of a job", "errors"),
        "exact": pgettext("figure of a job", "exact"),
        "failed": pgettext("figure of a job", "failed"),
        "files": pgettext("figure of a job", "files"),
        "forgotten": pgettext("figure of a job", "forgotten"),
        "generation": pgettext("figure of a job", "generation"),
        "gone": pgettext("figure of a job", "gone"),
        "held": pgettext("figure of a job", "held"),
        "held_purge": pgettext("figure of a job", "held purge"),
        "indexed": pgettext("figure of a job", "indexed"),
        "kept": pgettext("figure of a job", "kept"),
        "known": pgettext("figure of a job", "known"),
        "left_out": pgettext("figure of a job", "left out"),
        "lost": pgettext("figure of a job", "lost"),
        "memories": pgettext("figure of a job", "memories"),
        "model": pgettext("figure of a job", "model"),
        "near": pgettext("figure of a job", "near"),
        "newer": pgettext("figure of a job", "newer"),
        "on_disk": pgettext("figure of a job", "on disk"),
        "optimized": pgettext("figure of a job", "optimized"),
        "previous": pgettext("figure of a job", "previous"),
        "purged": pgettext("figure of a job", "purged"),
        "queries": pgettext("figure of a job", "queries"),
        "read": pgettext("figure of a job", "read"),
        "refused": pgettext("figure of a job", "refused"),
        "removed": pgettext("figure of a job", "removed"),
        "renamed": pgettext("figure of a job", "renamed"),
        "renewed": pgettext("figure of a job", "renewed"),
        "restored": pgettext("figure of a job", "restored"),
        "rows": pgettext("figure of a job", "rows"),
        "same": pgettext("figure of a job", "same"),
        "size": pgettext("figure of a job", "size"),
        "skipped": pgettext("figure of a job", "skipped"),
        "sources": pgettext("figure of a job", "sources"),
        "stored": pgettext("figure of a job", "stored"),
        "swept": pgettext("figure of a job", "swept"),
        "unchanged": pgettext("figure of a job", "unchanged"),
        "waiting": pgettext("figure of a job", "waiting"),
    }
    return words.get(name, name.replace("_", " "))
