"""`typescript`: a module without dependencies that asks an OpenAI-compatible endpoint for label probabilities.

Its types can be erased, so that Node.js runs it as it is.
"""

import json

from lens_engine.exports.chat_code import TYPESCRIPT_ASK, TYPESCRIPT_SERVER
from lens_engine.exports.contract import Format, Source
from lens_engine.exports.endpoint_classifier import EndpointClassifier, lay_out

_HEADER = """\
// A text classifier: prompts for a language model, and a head on the log-probabilities of the label words.
//
// Written by Lens. It needs nothing but `fetch`; Node.js 22.18 or newer runs it as it is:
//
//   await classify("a text", { base_url: "http://localhost:8000/v1", model: "its name there, if it is not MODEL" })
//
%s
// Lens cuts texts that are far longer than those of its dataset; this module does not.

export type Server = { base_url: string; model?: string; api_key?: string; timeout?: number };
export type Answer = { label: string; probabilities: Record<string, number> };
type Head =
  | { kind: "argmax" | "prior"; biases: number[][]; temperature: number }
  | { kind: "linear"; means: number[]; scales: number[]; weights: number[][]; intercepts: number[] };

"""
_TYPES = {"LABELS": "string[]", "SPANS": "string[]", "PROMPTS": "string[]", "FIELDS": "object", "HEAD": "Head"}

_SERVER = """\
// The server has the weights of MODEL and answers POST {base_url}/completions with the log-probabilities of a prompt
// (`echo` with `logprobs`), as vLLM and SGLang do. The server of llama.cpp, Ollama and the API of OpenAI do not.
// Lens tokenises demonstrations, input and label word apart, and a server the whole text; most texts have the same
// tokens.\
"""

_CLASSIFY = """
// The likeliest label of a text, and the probability of each label. `timeout` is in seconds.
export async function classify(text: string, server: Server): Promise<Answer> {
  const query = BEFORE + text + AFTER;
  const probabilities = applyHead(await Promise.all(PROMPTS.map((prompt) => scoreLabels(prompt, query, server))));
  const likeliest = probabilities.indexOf(Math.max(...probabilities));
  return {
    label: LABELS[likeliest]!,
    probabilities: Object.fromEntries(LABELS.map((label, place) => [label, probabilities[place]!])),
  };
}

// What the server answers.
async function post<Answered>(server: Server, path: string, body: object): Promise<Answered> {
  const response = await fetch(server.base_url.replace(/\\/+$/, "") + path, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(server.api_key ? { Authorization: `Bearer ${server.api_key}` } : {}),
    },
    body: JSON.stringify({ model: server.model ?? MODEL, ...body }),
    signal: AbortSignal.timeout(1000 * (server.timeout ?? 60)),
  });
  if (!response.ok) {
    throw new Error(`the server answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
  }
  return (await response.json()) as Answered;
}
"""

_ASK = """
type LogProbs = { tokens: string[]; token_logprobs: (number | null)[] };
type Completions = { choices?: { index: number; logprobs?: LogProbs | null }[]; usage?: { completion_tokens: number } };

// Log-probability of each label word after the prompt and the query.
async function scoreLabels(beginning: string, query: string, server: Server): Promise<number[]> {
  const prompt = beginning + query;
  const [alone, ...answers] = await complete([prompt, ...SPANS.map((span) => prompt + span)], server);
  const before = alone!.tokens.slice(0, -1); // the last token is generated
  return answers.map(({ tokens, token_logprobs }) => {
    if (before.some((token, place) => token !== tokens[place])) {
      throw new Error("the model joins the label word with the text before it; no probability is that of Lens");
    }
    const found = token_logprobs.slice(before.length, -1);
    if (!before.length || !found.length || found.includes(null)) {
      throw new Error("the server returned no log-probabilities of the prompt (`echo` with `logprobs`)");
    }
    return sum(found as number[]);
  });
}

// Tokens of each prompt and of one generated token, with their log-probabilities.
async function complete(prompts: string[], server: Server): Promise<LogProbs[]> {
  const body = { prompt: prompts, max_tokens: 1, temperature: 0, echo: true, logprobs: 1 };
  const answer = await post<Completions>(server, "/completions", body);
  const choices = (answer.choices ?? []).sort((one, other) => one.index - other.index);
  const found = choices.map((choice) => choice.logprobs);
  const isWhole = found.every((one) => one?.tokens?.length && one.token_logprobs?.length);
  if (!isWhole || found.length !== prompts.length || answer.usage?.completion_tokens !== prompts.length) {
    throw new Error("the server did not return one token with log-probabilities for each prompt");
  }
  return found as LogProbs[];
}
"""

_APPLY_HEAD = """
// Log-probabilities of the label words, a list for each prompt -> probabilities of the labels.
function applyHead(scores: number[][]): number[] {
  const logits = computeLogits(HEAD, scores);
  const highest = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - highest));
  const total = sum(weights);
  return weights.map((weight) => Math.max(weight / total, 1e-6)); // Lens gives no label less
}

function computeLogits(head: Head, scores: number[][]): number[] {
  if (head.kind === "linear") {
    const features = scores.flat().map((value, place) => (value - head.means[place]!) / head.scales[place]!);
    return head.weights.map((row, label) =>
      head.intercepts[label]! + sum(row.map((weight, place) => weight * features[place]!))
    );
  }
  const { biases, temperature } = head;
  return LABELS.map((_, label) =>
    sum(scores.map((row, prompt) => row[label]! + biases[prompt]![label]!)) / scores.length / temperature
  );
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, value) => total + value, 0);
}
"""


def write(source: Source) -> str:
    return write_code(EndpointClassifier.of_source(source))


def write_code(classifier: EndpointClassifier) -> str:
    """The module. Its strings are ASCII without `<`, so that it can stand in a page too."""
    is_chat = classifier.task.chat is not None
    types = _TYPES | ({"PROMPTS": "Message[][]"} if is_chat else {})
    lines = [
        f"const {name}: {types.get(name, 'string')} = {lay_out(value, _write)};\n"
        for name, value in classifier.constants().items()
    ]
    server, ask = (TYPESCRIPT_SERVER, TYPESCRIPT_ASK) if is_chat else (_SERVER, _ASK)
    note = "" if classifier.note is None else f"// {classifier.note}\n"
    return note + _HEADER % server + "".join(lines) + _CLASSIFY + ask + _APPLY_HEAD


def _write(value: object) -> str:
    return json.dumps(value).replace("<", "\\u003c")


TYPESCRIPT = Format(write, "text/x-typescript; charset=utf-8", ".ts", has_text=True, has_turns=True)
