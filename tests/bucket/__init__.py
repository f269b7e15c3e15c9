"""Tests of the bucket that backups are copied to."""
