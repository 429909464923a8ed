"""A model on this machine: from its name to a scorer. Only these modules import torch and transformers.

model_files, model_reader       where its files are and whether they are whole; GGUF is converted once
choices, torch_choices, memory  number formats, devices, threads; what to do when memory runs out
executor_choice, executors/     how forwards are run
load, steps, scorer             opening it, in words for whoever waits; the scorer
"""
