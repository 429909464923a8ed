"""Selections and datasets: received, checked here or in the reader, stored, listed, polled. No result is read here."""
