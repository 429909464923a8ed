"""One run, resumable from any checkpoint. Start at `pipeline`; what is shown of a result is not written here.

pipeline, selection_run, state    the run, its steps, and what is found by then
preparation                       rows dealt, prompts fitted, the price
propose, judge, classifying       contenders are written down, asked, fitted
table, choose, choices            one table of answers; a choice for each door, and its estimate
report, run_warnings              the result
suggest, estimator                what a run of a file could look like; a run as a classifier of scikit-learn
"""
