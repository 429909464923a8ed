"""Which rows do what: cleaned, dealt once by label, fitted to the context. Nothing is scored here.

problem, cleaning      the labelled texts of a run, and what is said of them
dealing, quotas, plan  search rows, judging rows and pool; how many of each label; rungs and rounds
context                which demonstrations and texts the context of the model has room for
"""
