"""Measurements: seconds, memory, agreement of numbers, growth."""
