// A file is labelled, or tested, in batches of 256 texts. The service reads the file and writes it with its answers;
// this page sends the texts, and sends a batch again while the service loads a model or is away.
(() => {
  "use strict";
  const MOST = 256, PATIENCE = 600000, PAUSE = 2000;
  const key = () => sessionStorage.getItem("lens-key");
  const headers = (more) => (key() ? { ...more, Authorization: `Bearer ${key()}` } : more);
  const pause = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });

  async function ask(path, body, wait = () => {}) {
    const isForm = body instanceof FormData;
    const given = isForm ? { headers: headers({}), body } : { headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) };
    const until = Date.now() + PATIENCE;
    for (;;) {
      const response = await fetch(path, { method: "POST", ...given }).catch(() => null);
      if (response?.ok) return response;
      const isAway = !response || [429, 502, 503, 504].includes(response.status);
      const why = (await response?.json().catch(() => null))?.detail ?? "The service does not answer.";
      if (!isAway || Date.now() > until) throw new Error(why);
      wait(why);
      await pause(PAUSE);
    }
  }

  function formOf(file, spec, answers) {
    const form = new FormData();
    form.append("texts", file);
    form.append("spec", new Blob([JSON.stringify(spec)], { type: "application/json" }));
    if (answers) form.append("answers", new Blob([JSON.stringify(answers)], { type: "application/json" }), "answers.json");
    return form;
  }

  async function classify(api, { texts, faults }, tell, wait) {
    const answers = [];
    let by; // a file has the answers of one version
    while (answers.length < texts.length) {
      const rows = texts.slice(answers.length, answers.length + MOST).map((_, place) => answers.length + place);
      const good = rows.filter((row) => faults[row] === null);
      const found = good.length ? await (await ask(`${api}/classify`, { inputs: good.map((row) => texts[row]) }, wait)).json() : { answers: [] };
      if (good.length) {
        const isOther = by && (by.selection_id !== found.selection_id || by.version !== found.version);
        by = found;
        if (isOther) {
          answers.length = 0;
          continue;
        }
      }
      for (const row of rows) {
        const one = found.answers[good.indexOf(row)];
        answers.push(one ? { label: one.label, probabilities: one.probabilities, cut: one.cut, error: one.error?.detail ?? null } : { error: faults[row] });
      }
      tell(answers.length, texts.length);
    }
    return { answers, by: by?.contender.kind === "prompt" ? "the prompt" : "the classifier" };
  }

  function countLabels(answers, by) {
    const counts = new Map();
    for (const { label } of answers) counts.set(label ?? "no answer", (counts.get(label ?? "no answer") ?? 0) + 1);
    const shown = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 10);
    const unsure = answers.filter(({ label, probabilities }) => label && probabilities && Math.max(...probabilities) < 0.6).length;
    const labels = shown.map(([label, number]) => `${label}: ${number.toLocaleString()}`).join(", ");
    return `${labels}, by ${by}${unsure ? `; ${unsure.toLocaleString()} below 60 %` : ""}`;
  }

  function showNext(found, out) {
    out.querySelector("ol").replaceChildren(...found.items.map((one) => {
      const line = document.createElement("li");
      line.textContent = `${one.text} (${one.chosen_by})`;
      return line;
    }));
    return new Blob([found.table], { type: "text/csv" });
  }

  async function run(form) {
    const { api, kind, selection } = form.dataset;
    const file = form.elements.file.files[0], out = form.nextElementSibling, said = out.querySelector("[role=status]");
    const bar = out.querySelector("progress"), link = out.querySelector("a");
    const field = form.elements.file;
    field.disabled = true;
    link.hidden = true;
    bar.hidden = false;
    bar.removeAttribute("value");
    said.className = "hint";
    said.textContent = "The file is read …";
    const tell = (done, total) => {
      bar.max = total;
      bar.value = done;
      said.textContent = `${done.toLocaleString()} of ${total.toLocaleString()} texts have an answer.`;
    };
    const offer = (content, name, says) => {
      link.href = URL.createObjectURL(content);
      link.download = name;
      link.hidden = false;
      link.scrollIntoView({ block: "nearest" });
      said.textContent = says.join(". ");
    };
    try {
      if (kind === "next") {
        const found = await (await ask(api, formOf(file, { selection_id: selection }), (why) => { said.textContent = why; })).json();
        offer(showNext(found, out), "label-next.csv", [`${found.items.length} of ${found.compared.toLocaleString()} different texts of ${file.name}`, ...found.notes]);
        return;
      }
      const labelled = kind === "test";
      const read = await (await ask(`${api}/texts`, formOf(file, { labelled }))).json();
      const { answers, by } = await classify(api, read, tell, (why) => { said.textContent = why; });
      if (labelled) {
        await ask(`${api}/evaluations`, formOf(file, { keep: true }, answers));
        location.reload();
        return;
      }
      const written = await ask(`${api}/table`, formOf(file, {}, answers));
      const name = file.name.replace(/\.[^.]*$/, ""), suffix = /\.(\w+)"/.exec(written.headers.get("Content-Disposition") ?? "")?.[1] ?? "csv";
      offer(await written.blob(), `${name}-labelled.${suffix}`, [`${answers.filter(({ label }) => label).length.toLocaleString()} of ${answers.length.toLocaleString()} texts of ${file.name} are labelled`, countLabels(answers, by), ...read.notes]);
    } catch (error) {
      said.className = "trouble";
      said.textContent = error.message;
    } finally {
      bar.hidden = true;
      field.disabled = false;
      field.value = "";
    }
  }

  document.addEventListener("change", ({ target }) => { if (target.form?.matches("form.batches") && target.files.length) run(target.form); });
  document.addEventListener("submit", (event) => { if (event.target.matches("form.batches")) event.preventDefault(); });
})();
