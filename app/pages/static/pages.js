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
    for (const field of document.querySelectorAll("[data-file-name]")) field.value ||= sessionStorage.getItem(FILE) ?? "";
  });

  document.addEventListener("change", ({ target }) => {
    if (target.id === "dataset") sessionStorage.setItem(FILE, target.files[0]?.name ?? "");
  });

  const tryAgain = (source) => { if (!isAsked(source)) setTimeout(() => source?.dispatchEvent(new CustomEvent("again")), 3000); };

  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    const isAway = [502, 503, 504].includes(ctx.response.status);
    showAway(isAway);
    if (isAway) tryAgain(ctx.sourceElement);
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
    const button = event.target.closest("button[data-copy]");
    if (button) copy(button);
    if (event.target.closest("#forget-key")) {
      sessionStorage.removeItem(NAME);
      location.reload();
    }
  });
})();
