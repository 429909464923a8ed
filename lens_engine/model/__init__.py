"""How a language model is asked: log-probabilities of label words after prompts. What a model is comes in below.

base                      the contract `LabelScorer`, and what a scorer may also do
labels                    label words as a trie of tokens, and what ends them
limits                    what a model cannot answer, and how it is stopped
tokenization, spending    tokens and money; `score_cache` keeps scores on disk
local/ servers/ cluster/  a model on this machine, behind a server, on several devices
"""
