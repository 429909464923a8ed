// What htmx does not do: the key of this tab, empty fields, downloads with a key, and saying that the service is away.
(() => {
  "use strict";
  const NAME = "lens-key";
  const find = (id) => document.getElementById(id);
  const key = () => sessionStorage.getItem(NAME);
  const authorized = (headers) => (key() ? { ...headers, Authorization: `Bearer ${key()}` } : headers);
  const showAway = (isAway) => { find("away").hidden = !isAway; };
  const etags = new WeakMap(); // of the answer that an element shows, if it asks for it again and again

  document.addEventListener("DOMContentLoaded", () => {
    find("forget-key").hidden = !key();
    for (const link of document.querySelectorAll("nav a")) {
      if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
    }
  });

  document.addEventListener("htmx:config:request", (event) => {
    const { request, sourceElement } = event.detail.ctx;
    request.headers = authorized(request.headers);
    if (etags.has(sourceElement)) request.headers["If-None-Match"] = etags.get(sourceElement);
  });

  // A request that waited for another is void where the answer to the other took its element away. While a key is asked
  // for, a page asks for nothing by itself: the answer would take the form away.
  document.addEventListener("htmx:before:request", (event) => {
    const { ctx } = event.detail;
    if (!ctx.sourceElement.isConnected || (find("key-form") && !isAsked(ctx))) event.preventDefault();
  });

  // A page takes pages alone: no file of the service is swapped in, whatever the address says.
  document.addEventListener("htmx:before:response", (event) => {
    const { response } = event.detail.ctx;
    const type = response.headers.get("Content-Type") ?? "";
    if (response.status !== 304 && !type.startsWith("text/html")) event.preventDefault();
  });

  // A form that comes back from the history would send its key again, with other fields.
  window.addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); });

  document.addEventListener("submit", (event) => {
    if (event.target.id !== "key-form") return;
    event.preventDefault();
    sessionStorage.setItem(NAME, find("key").value.trim());
    find("forget-key").hidden = false;
    forget();
    find("main").focus(); // the field that had it is gone
    find("main").dispatchEvent(new CustomEvent("again"));
  });

  // An empty field means the default. A form would send it as an empty text, and no file as an empty file.
  document.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) {
      const isEmpty = value instanceof File ? !value.name : value === "";
      if (isEmpty && formData.getAll(name).length === 1) formData.delete(name);
    }
  });

  const isAsked = (ctx) => ["click", "submit"].includes(ctx.sourceEvent?.type);
  const isRefused = (ctx) => ctx.hx?.retarget === "#problem";

  // A reader hears a problem once: by the focus that it gets where a person asked, or else as an alert.
  const announce = (isOfPerson) => find("problem").setAttribute("role", isOfPerson ? "region" : "alert");
  const say = (isOfPerson) => { find("problem").dataset.of = isOfPerson ? "person" : "page"; if (isOfPerson) find("problem").focus(); };
  const forget = () => { find("problem").replaceChildren(); announce(false); };
  let refusal = "";
  document.addEventListener("htmx:before:swap", (event) => {
    const { ctx } = event.detail;
    if (!isRefused(ctx)) return;
    if (!isAsked(ctx) && find("problem").firstChild && ctx.text === refusal) return event.preventDefault();
    refusal = ctx.text;
    announce(isAsked(ctx));
  });

  // What a person asked for stays refused until the next request of a person; what the page asks for heals by itself.
  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    const source = ctx.sourceElement;
    if (isRefused(ctx)) {
      if (source?.id === "main") source.replaceChildren();
      else if (!comesAgain(ctx)) source?.querySelector("[data-waits]")?.remove();
      say(isAsked(ctx));
    } else {
      if (isAsked(ctx) || find("problem").dataset.of === "page") forget();
      if (source?.id === "main") find("said").textContent = ctx.title;
      if (ctx.response.headers.has("ETag")) etags.set(source, ctx.response.headers.get("ETag"));
    }
    if (ctx.hx?.retarget === "#main") find("main").focus();
    const first = document.querySelector("[data-focus]");
    first?.removeAttribute("data-focus");
    first?.focus();
    for (const one of document.querySelectorAll("main :is(.scroll, .long), main .scroll > *")) sizes.observe(one);
    for (const one of document.querySelectorAll("select[form=corrections]")) if (one.value) share(one);
    countMarked();
    tell();
    document.querySelector("[data-now]")?.click();
  });

  // Times as the reader's clock has them, and how far a run is in the title of the tab.
  function tell() {
    for (const one of document.querySelectorAll("time:not([title])")) {
      const at = new Date(one.dateTime);
      one.title = one.textContent;
      const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86400000);
      const day = ["today", "yesterday"][days] ?? at.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
      one.textContent = `${day} ${at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`;
    }
    const running = document.querySelector("[data-title]");
    if (running) document.title = running.dataset.title;
  }

  // A row stands in several lists, and its label is chosen in any of them.
  function share(chosen) {
    for (const other of document.querySelectorAll(`[form=corrections][name="${chosen.name}"]`)) {
      if (![...other.options].some(({ value }) => value === chosen.value)) other.add(new Option(chosen.value));
      other.value = chosen.value;
    }
  }
  document.addEventListener("change", ({ target }) => { if (target.matches("select[form=corrections]")) share(target); });

  // A choice that asks for no more is sent at once: that of a file, that of an order.
  document.addEventListener("change", ({ target }) => {
    const asked = target.form?.getAttribute("data-at-once"); // a field of the form may be named dataset
    if (asked === "" || (asked && asked === target.name)) target.form.requestSubmit();
  });
  // A file that was mended and is chosen again is a change, too.
  document.addEventListener("click", ({ target }) => {
    if (target.type === "file" && target.form?.getAttribute("data-at-once") === target.name) target.value = "";
  });
  for (const kind of ["dragenter", "dragleave", "drop"]) {
    document.addEventListener(kind, ({ target }) => {
      if (target.matches?.(".drop input")) target.classList.toggle("over", kind === "dragenter");
    });
  }

  // The sample goes the way of a file that a person chooses.
  async function takeSample(button) {
    for (const name of ["test", "dataset"]) {
      const file = name === "test" ? "test.csv" : "train.csv";
      const chosen = new DataTransfer();
      const response = await fetch(button.dataset.sample + file);
      chosen.items.add(new File([await response.blob()], file, { type: "text/csv" }));
      find(name).files = chosen.files;
    }
    find("files").requestSubmit();
  }

  // A box is a stop for the keyboard only where it scrolls.
  const sizes = new ResizeObserver((entries) => {
    for (const box of new Set(entries.map(({ target }) => target.closest(".scroll, .long")))) {
      if (box && (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight)) box.tabIndex = 0;
      else box?.removeAttribute("tabindex");
    }
  });

  function countMarked() {
    const button = document.querySelector("#compare button");
    if (button) button.disabled = document.querySelectorAll("[form=compare]:checked").length !== 2;
  }
  document.addEventListener("change", ({ target }) => { if (target.matches("[form=compare]")) countMarked(); });

  const pauses = new WeakMap();
  const comesAgain = (ctx) => ctx.response.status >= 502 && !isAsked(ctx);
  function tryAgain({ sourceElement: source }) {
    const pause = Math.min(60, 2 * (pauses.get(source) ?? 1.5));
    pauses.set(source, pause);
    setTimeout(() => source.dispatchEvent(new CustomEvent("again")), 1000 * pause);
  }

  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    showAway([502, 504].includes(ctx.response.status));
    if (comesAgain(ctx)) tryAgain(ctx);
    else pauses.delete(ctx.sourceElement);
    if (ctx.response.status === 401) {
      sessionStorage.removeItem(NAME);
      find("forget-key").hidden = true;
    }
  });
  document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
    if (!ctx) return;
    showAway(true);
    if (ctx.sourceElement && !isAsked(ctx)) tryAgain(ctx);
  });

  async function save(link) {
    const response = await fetch(link.href, { headers: authorized({}) });
    if (!response.ok) {
      announce(true);
      find("problem").textContent = (await response.json()).detail;
      say(true);
      return;
    }
    const file = new Blob([await response.blob()]);
    const shown = document.createElement("a");
    shown.href = URL.createObjectURL(file);
    shown.download = link.dataset.save;
    shown.click();
    setTimeout(() => URL.revokeObjectURL(shown.href), 60000);
  }

  // Browsers have a clipboard for scripts at https and on localhost only, and may refuse it.
  async function copy(button) {
    const shown = find(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(shown.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(shown);
      button.textContent = "Selected: copy it by keyboard";
    }
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-save]");
    if (link) {
      event.preventDefault();
      save(link).catch(() => showAway(true));
    }
    const filling = event.target.closest("button[data-fill]");
    if (filling) {
      find(filling.dataset.fill).value = filling.dataset.value;
      find(filling.dataset.fill).dispatchEvent(new Event("change", { bubbles: true }));
    }
    const sample = event.target.closest("button[data-sample]");
    if (sample) {
      delete sample.dataset.now;
      takeSample(sample).catch(() => showAway(true));
    }
    const button = event.target.closest("button[data-copy]");
    if (button) copy(button);
    if (event.target.closest("#forget-key")) {
      sessionStorage.removeItem(NAME);
      location.reload();
    }
  });
})();
