"""Answers at once: texts that are asked of a classifier now, in the process that asks or in one that holds the models.

models       the models that they ask, opened in a thread
answering    what waits, and what is computed together: the same in the API and in `lens answers`
remote       the classifiers that are asked, and the processes that hold weights, asked over HTTP
client       what the API asks: words and models behind servers here, all others there; numbers of both
"""
