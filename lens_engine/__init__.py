"""LENS: find the support examples of a text-classification task.

Li & Qiu, "Finding Support Examples for In-Context Learning", Findings of EMNLP 2023. The engine is a
library of its own: it knows nothing of the service around it, and imports torch only when a causal
language model is used.
"""

__version__ = "0.1.0"
