"""Repeats the paper's tables and figures with the engine. The command is `lens experiment`.

data        datasets by name: label words, templates, rows
scales.py   the size of an experiment: the paper's, a laptop's, and one for tests
laboratory  computes cells, each once, and stores them
table       the main table
analyses    six further questions, over one skeleton
plots       pictures of accuracies
findings    tables, plots and notes, and the files they become
"""
