"""Conversations as state tables: events in, commands out, nothing performed."""
