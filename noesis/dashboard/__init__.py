"""The dashboard: server-rendered pages that work without JavaScript."""
