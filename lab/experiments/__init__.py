"""The paper's table, repeated with the engine.

Every finished figure of the paper's table is stored; a stopped or killed command resumes from the stored ones.

datasets.py  datasets by name: label words, templates, rows
sizes.py     the size of the paper's table: the paper's, and one for a laptop
entries.py   the rows of the paper's table
cells.py     one figure of the table: computed once, and kept
report.py    the figures as a page and as CSV
"""
