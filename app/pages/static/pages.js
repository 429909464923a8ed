// What htmx does not do: the key of this tab, empty fields, downloads with a key, and saying that the service is away.
(() => {
  "use strict";
  const NAME = "lens-key", FILE = "lens-file";
  const find = (id) => document.getElementById(id);
  const key = () => sessionStorage.getItem(NAME);
  const again = (name) => document.body.dispatchEvent(new CustomEvent(name));
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

  document.addEventListener("submit", (event) => {
    if (event.target.id !== "key-form") return;
    event.preventDefault();
    sessionStorage.setItem(NAME, find("key").value.trim());
    find("forget-key").hidden = false;
    find("problem").replaceChildren();
    again("key");
  });

  // An empty field means the default. A form would send it as an empty text, and no file as an empty file.
  document.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) {
      const isEmpty = value instanceof File ? !value.name : value === "";
      if (isEmpty && formData.getAll(name).length === 1) formData.delete(name);
    }
  });

  document.addEventListener("htmx:after:swap", (event) => {
    const { ctx } = event.detail;
    const isProblem = ctx.hx?.retarget === "#problem";
    if (isProblem) find("problem").focus();
    else if (ctx.sourceElement?.matches("form, button, main")) find("problem").replaceChildren();
    for (const field of document.querySelectorAll("[data-file-name]")) field.value ||= sessionStorage.getItem(FILE) ?? "";
  });

  document.addEventListener("change", ({ target }) => {
    if (target.id === "dataset") sessionStorage.setItem(FILE, target.files[0]?.name ?? "");
  });

  document.addEventListener("htmx:after:request", (event) => showAway([502, 503, 504].includes(event.detail.ctx.response.status)));
  document.addEventListener("htmx:sse:after:connection", () => showAway(false));
  document.addEventListener("htmx:sse:error", () => showAway(true));
  document.addEventListener("htmx:error", (event) => {
    if (!event.detail.ctx) return;
    showAway(true);
    if (event.detail.ctx.sourceElement?.id === "main") setTimeout(() => again("again"), 3000);
  });

  async function save(link) {
    const response = await fetch(link.href, { headers: authorized({}) });
    const file = new Blob([await response.blob()]);
    const named = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "");
    const shown = document.createElement("a");
    shown.href = URL.createObjectURL(file);
    shown.download = named?.[1] ?? link.dataset.save;
    shown.click();
    setTimeout(() => URL.revokeObjectURL(shown.href), 60000);
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-save]");
    if (link) {
      event.preventDefault();
      save(link).catch(() => showAway(true));
    }
    const copy = event.target.closest("button[data-copy]");
    if (copy) {
      navigator.clipboard.writeText(find(copy.dataset.copy).textContent).then(() => { copy.textContent = "Copied"; });
    }
    if (event.target.closest("#forget-key")) {
      sessionStorage.removeItem(NAME);
      location.reload();
    }
  });
})();
