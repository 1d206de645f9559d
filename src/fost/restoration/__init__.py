"""Restoration of signals, pictures and volumes: one code for one, two and three dimensions."""
