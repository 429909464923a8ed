"""Datasets: stored rows of uploaded examples."""
