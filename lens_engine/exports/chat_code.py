"""What `python` and `typescript` write for a chat: how the most probable tokens of an answer are read."""

PYTHON_SERVER = """\
The server has MODEL and answers POST {base_url}/chat/completions with the 20 most probable tokens (`top_logprobs`), as
the API of OpenAI, vLLM, SGLang and the server of llama.cpp do.\
"""

PYTHON_ASK = '''

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

TYPESCRIPT_SERVER = """\
// The server has MODEL and answers POST {base_url}/chat/completions with the 20 most probable tokens (`top_logprobs`),
// as the API of OpenAI, vLLM, SGLang and the server of llama.cpp do.\
"""

TYPESCRIPT_ASK = """
type Message = { role: string; content: string };
type Listed = { token: string; logprob: number };
type Chat = { choices: { logprobs?: { content?: { top_logprobs: Listed[] }[] | null } | null }[] };

// Log-probability of the answer of each label; one that is not listed has the smallest listed value.
async function scoreLabels(prompt: Message[], query: string, server: Server): Promise<number[]> {
  const messages = [...prompt, { role: "user", content: query }];
  const body = { messages, logprobs: true, top_logprobs: 20, ...FIELDS };
  const answer = await post<Chat>(server, "/chat/completions", body);
  const all = answer.choices[0]?.logprobs?.content?.[0]?.top_logprobs ?? [];
  const listed = [...new Map(all.map((one) => [one.token, one.logprob]))].filter(([, value]) => value > -9000);
  if (listed.length < 2) {
    throw new Error("the server returned no log-probabilities (`top_logprobs`)");
  }
  const floor = Math.min(...listed.map(([, value]) => value));
  return SPANS.map((span) => {
    const found = listed.filter(([token]) => token.trim() === span).map(([, value]) => Math.exp(value));
    return found.length ? Math.log(sum(found)) : floor;
  });
}
"""
