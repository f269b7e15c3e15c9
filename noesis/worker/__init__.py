"""The worker: an entry point that runs the ledger's jobs; import what it offers from here."""

from noesis.worker.crons import Cron
from noesis.worker.handlers import Handler, JobContext
from noesis.worker.worker import WorkerOptions, run_worker

__all__ = ["Cron", "Handler", "JobContext", "WorkerOptions", "run_worker"]
