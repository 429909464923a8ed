"""A model behind a server: label log-probabilities by HTTP. Nothing here imports torch.

address             where a model is asked, and under which key
transport           requests: a thread with an event loop, retries
refusal             what a server refuses, and whether it may be asked again
contract            what a kind of server has to answer: reads
token_server        kinds that are asked by one text: vLLM, and llama_cpp
chat, chat_answers  the kind that is asked by turns; it chooses label words that answers tell apart
conformance         what a server has to prove before it is believed
scorer              the kinds by name, and from an address to the `LabelScorer` over all that, with its answers on disk
"""
