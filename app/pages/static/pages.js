// What htmx does not do: the key of this tab, empty fields, downloads with a key, and saying that the service is away.
(() => {
  "use strict";
  const NAME = "lens-key", FILE = "lens-file";
  const find = (id) => document.getElementById(id);
  const key = () => sessionStorage.getItem(NAME);
  const authorized = (headers) => (key() ? { ...headers, Authorization: `Bearer ${key()}` } : headers);
  const showAway = (isAway) => { find("away").hidden = !isAway; };

  document.addEventListener("DOMContentLoaded", () => {
    find("forget-key").hidden = !key();
    for (const link of document.querySelectorAll("nav a")) {
      if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
    }
  });

  document.addEventListener("htmx:config:request", (event) => {
    const { request } = event.detail.ctx;
    request.headers = authorized(request.headers);
  });

  // A request that waited for another is void where the answer to the other took its element away.
  document.addEventListener("htmx:before:request", (event) => {
    if (!event.detail.ctx.sourceElement.isConnected) event.preventDefault();
  });

  // A page takes pages alone: no file of the service is swapped in, whatever the address says.
  document.addEventListener("htmx:before:response", (event) => {
    const { response, sourceElement } = event.detail.ctx;
    const type = response.headers.get("Content-Type") ?? "";
    const isStream = type.startsWith("text/event-stream");
    if (sourceElement.id === "stream" ? !isStream : !isStream && !type.startsWith("text/html")) event.preventDefault();
  });

  // A form that comes back from the history would send its key again, with other fields.
  window.addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); });

  document.addEventListener("submit", (event) => {
    if (event.target.id !== "key-form") return;
    event.preventDefault();
    sessionStorage.setItem(NAME, find("key").value.trim());
    find("forget-key").hidden = false;
    find("problem").replaceChildren();
    find("main").dispatchEvent(new CustomEvent("again"));
  });

  // An empty field means the default. A form would send it as an empty text, and no file as an empty file.
  document.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) {
      const isEmpty = value instanceof File ? !value.name : value === "";
      if (isEmpty && formData.getAll(name).length === 1) formData.delete(name);
    }
  });

  const isAsked = (source) => source?.matches("form, button");
  const say = (isOfPerson) => { find("problem").dataset.of = isOfPerson ? "person" : "page"; if (isOfPerson) find("problem").focus(); };

  // What a person asked for stays refused until the next request of a person; what the page asks for heals by itself.
  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    if (ctx.hx?.retarget === "#problem") {
      if (ctx.sourceElement?.id === "main") find("loading")?.remove();
      say(isAsked(ctx.sourceElement));
    } else if (isAsked(ctx.sourceElement) || find("problem").dataset.of === "page") find("problem").replaceChildren();
    if (ctx.hx?.retarget === "#main") find("main").focus();
    const field = document.querySelector("[data-file-name]");
    if (field) nameByFile(field);
  });

  // The name of a dropped file is the first name of the selection of its rows.
  function nameByFile(field) {
    const own = `${FILE}-${field.dataset.fileName}`;
    const dropped = sessionStorage.getItem(FILE);
    if (dropped) sessionStorage.setItem(own, dropped.slice(0, 200));
    sessionStorage.removeItem(FILE);
    field.value = sessionStorage.getItem(own) ?? "";
    field.removeAttribute("data-file-name");
  }
  document.addEventListener("change", ({ target }) => {
    if (target.id === "dataset") sessionStorage.setItem(FILE, target.files[0]?.name ?? "");
  });

  const pauses = new WeakMap();
  function tryAgain(source) {
    if (!source || isAsked(source)) return;
    const pause = Math.min(60, 2 * (pauses.get(source) ?? 1.5));
    pauses.set(source, pause);
    setTimeout(() => source.dispatchEvent(new CustomEvent("again")), 1000 * pause);
  }

  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    showAway([502, 504].includes(ctx.response.status));
    if (ctx.response.status >= 502) tryAgain(ctx.sourceElement);
    else pauses.delete(ctx.sourceElement);
  });
  document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
    if (!ctx) return;
    showAway(true);
    tryAgain(ctx.sourceElement);
  });
  document.addEventListener("htmx:sse:after:connection", () => showAway(false));
  document.addEventListener("htmx:sse:error", () => showAway(true));

  async function save(link) {
    const response = await fetch(link.href, { headers: authorized({}) });
    if (!response.ok) {
      find("problem").textContent = (await response.json()).detail;
      say(true);
      return;
    }
    const file = new Blob([await response.blob()]);
    const named = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "");
    const shown = document.createElement("a");
    shown.href = URL.createObjectURL(file);
    shown.download = named?.[1] ?? link.dataset.save;
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
    const button = event.target.closest("button[data-copy]");
    if (button) copy(button);
    if (event.target.closest("#forget-key")) {
      sessionStorage.removeItem(NAME);
      location.reload();
    }
  });
})();
