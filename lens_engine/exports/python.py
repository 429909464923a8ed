"""`python`: a module without dependencies that asks an OpenAI-compatible endpoint for label probabilities."""

from lens_engine.exports.contract import Format, Source
from lens_engine.exports.endpoint_classifier import EndpointClassifier, lay_out

_HEADER = '''\
"""A text classifier: prompts for a language model, and a head on the log-probabilities of the label words.

Written by Lens. It needs Python 3.9 or newer, and nothing else:

    classify("a text", base_url="http://localhost:8000/v1", model="its name on the server, if it is not MODEL")

%s
Lens cuts texts that are far longer than those of its dataset; this module does not.
"""

import json
import math
import urllib.error
import urllib.request

'''

_SERVER = """\
The server has the weights of MODEL and answers POST {base_url}/completions with the log-probabilities of a prompt
(`echo` with `logprobs`), as vLLM does. The server of llama.cpp, Ollama and the API of OpenAI do not.
Lens tokenises demonstrations, input and label word apart, and a server the whole text; most texts have the same
tokens.\
"""

_CHAT_SERVER = """\
The server has MODEL and answers POST {base_url}/chat/completions with the 20 most probable tokens (`top_logprobs`), as
the API of OpenAI, vLLM and the server of llama.cpp do.\
"""

_ASK_CHAT = '''

PATH = "/chat/completions"


def score_labels(prompt, query, server):
    """Log-probability of the answer of each label; one that is not listed has the smallest listed value."""
    body = {"messages": prompt + [{"role": "user", "content": query}], "logprobs": True, "top_logprobs": 20}
    answer = post(server, {**body, **FIELDS})
    content = (answer["choices"][0].get("logprobs") or {}).get("content")
    listed = {one["token"]: one["logprob"] for one in (content[0]["top_logprobs"] if content else ())}
    listed = {token: value for token, value in listed.items() if value > -9000}
    if len(listed) < 2:
        raise RuntimeError("the server returned no log-probabilities (`top_logprobs`)")
    scores = []
    for span in SPANS:
        found = [value for token, value in listed.items() if token.strip() == span]
        scores.append(math.log(sum(map(math.exp, found))) if found else min(listed.values()))
    return scores
'''

_CLASSIFY = '''

def classify(text, *, base_url, model=MODEL, api_key=None, timeout=60.0):
    """The likeliest label of a text, and the probability of each label.

    Raises:
        RuntimeError: the server refused, or its answer has no log-probabilities of the prompt.
        OSError: the server cannot be reached, or took longer than `timeout` (seconds).
    """
    query = BEFORE + text + AFTER
    server = (base_url.rstrip("/") + PATH, model, api_key, timeout)
    probabilities = apply_head([score_labels(prompt, query, server) for prompt in PROMPTS])
    by_label = dict(zip(LABELS, probabilities))
    return {"label": max(by_label, key=by_label.get), "probabilities": by_label}


def post(server, body):
    """What the server answers, as JSON."""
    url, model, api_key, timeout = server
    headers = {"Content-Type": "application/json"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    request = urllib.request.Request(url, json.dumps({"model": model, **body}).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        reason = error.read().decode("utf-8", "replace")[:500]
        raise RuntimeError(f"the server answered {error.code}: {reason}") from error
'''

_ASK = '''

PATH = "/completions"


def score_labels(prompt, query, server):
    """Log-probability of each label word after the prompt and the query."""
    prompt += query
    alone, *answers = complete([prompt] + [prompt + span for span in SPANS], server)
    start = len(alone["tokens"]) - 1  # the last token is generated
    scores = []
    for answer in answers:
        if answer["tokens"][:start] != alone["tokens"][:start]:
            raise RuntimeError("the model joins the label word with the text before it; no probability is that of Lens")
        found = answer["token_logprobs"][start:-1]
        if start < 1 or not found or None in found:
            raise RuntimeError("the server returned no log-probabilities of the prompt (`echo` with `logprobs`)")
        scores.append(sum(found))
    return scores


def complete(prompts, server):
    """Tokens of each prompt and of one generated token, with their log-probabilities."""
    body = {"prompt": prompts, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}
    answer = post(server, body)
    choices = sorted(answer.get("choices", []), key=lambda choice: choice["index"])
    found = [choice.get("logprobs") or {} for choice in choices]
    is_whole = all(one.get("tokens") and one.get("token_logprobs") for one in found)
    if not is_whole or not len(found) == len(prompts) == answer.get("usage", {}).get("completion_tokens"):
        raise RuntimeError("the server did not return one token with log-probabilities for each prompt")
    return found
'''

_APPLY_HEAD = '''

def apply_head(scores):
    """Log-probabilities of the label words, a list for each prompt -> probabilities of the labels."""
    if HEAD["kind"] == "linear":
        features = [value for row in scores for value in row]
        features = [(value - mean) / scale for value, mean, scale in zip(features, HEAD["means"], HEAD["scales"])]
        logits = [
            intercept + sum(weight * value for weight, value in zip(weights, features))
            for weights, intercept in zip(HEAD["weights"], HEAD["intercepts"])
        ]
    else:
        biased = [[value + bias for value, bias in zip(*rows)] for rows in zip(scores, HEAD["biases"])]
        logits = [sum(column) / len(biased) / HEAD["temperature"] for column in zip(*biased)]
    highest = max(logits)
    total = sum(math.exp(logit - highest) for logit in logits)
    return [max(math.exp(logit - highest) / total, 1e-6) for logit in logits]  # Lens gives no label less
'''


def write(source: Source) -> str:
    return write_code(EndpointClassifier.of_source(source))


def write_code(classifier: EndpointClassifier) -> str:
    """The module. Its strings are ASCII, so that no character of a text shows the code in another order."""
    shown = "".join(f"{name} = {lay_out(value, ascii)}\n" for name, value in classifier.constants().items())
    server, ask = (_SERVER, _ASK) if classifier.task.chat is None else (_CHAT_SERVER, _ASK_CHAT)
    note = "" if classifier.note is None else f"# {classifier.note}\n"
    return note + _HEADER % server + shown + _CLASSIFY + ask + _APPLY_HEAD


PYTHON = Format(write, "text/x-python; charset=utf-8", ".py", has_text=True, has_turns=True)
