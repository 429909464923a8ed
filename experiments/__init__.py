"""The paper's tables and figures as commands, over the engine. `lens experiment` is their command line.

cells -> laboratory (store, models, evidence) -> one module each: table, … -> findings -> writing
"""
