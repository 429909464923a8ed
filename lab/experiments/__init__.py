"""Repeats the paper's table with the engine. Not part of the wheel.

python -m lab.experiments.table            the paper's table: LENS, its rivals, other readings of it
python -m lab.experiments.prompts          prompts of every form beside random-and-validation
Every finished cell is stored; a stopped or killed command resumes from the stored cells.

data        datasets by name: label words, templates, rows
scales.py   the size of an experiment: the paper's, a laptop's, and one for tests
laboratory  computes cells, each once, and stores them
command.py  the options of both commands
table       the main table
prompts.py  prompts of every form
rivals      coreset methods, which fine-tune the model on the candidates
findings    tables and notes, and the files they become
"""
