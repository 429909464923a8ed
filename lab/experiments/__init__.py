"""The paper's table, repeated with the engine, and the accuracy by number of labelled rows.

Every finished figure is stored; a stopped or killed command resumes from the stored ones.

datasets.py  datasets by name: label words, templates, rows
sizes.py     the size of the paper's table: the paper's, and one for a laptop
entries.py   the rows of the paper's table
searches.py  what LENS chooses, and random-and-validation at equal cost
cells.py     one figure of the table: computed once, and kept
report.py    the figures as a page and as CSV
few_rows.py  runs on few labelled rows, beside what they expected, as CSV
"""
