"""Backups that are proven, restores that can be undone."""
