// Keys, and the little that forms need; every page works without this file.
"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  let goes = 0; // until when (ms) a letter after `g` counts

  function move(step) {
    const links = [...document.querySelectorAll(".hit-link, .stop")];
    const at = links.indexOf(document.activeElement);
    const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step];
    if (next) {
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    }
  }

  function go(letter) {
    const link = [...document.querySelectorAll("nav [data-key]")].find((each) => each.dataset.key === letter);
    if (link) link.click();
    return Boolean(link);
  }

  const actions = {
    "/": () => {
      const field = one("#q");
      if (field) field.select();
      else location.assign("/");
    },
    j: () => move(1),
    k: () => move(-1),
    x: () => document.activeElement.closest(".hit")?.querySelector("input[name=id]")?.click(),
    "?": () => one("#keys")?.showModal(),
    g: () => {
      goes = Date.now() + 1500;
    },
  };

  document.addEventListener("keydown", (event) => {
    const target = event.target;
    const types = target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape" && types) target.blur();
    if (types || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || one("dialog[open]")) return;
    const isGoing = Date.now() < goes;
    goes = 0;
    if (isGoing && go(event.key)) {
      event.preventDefault();
    } else if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-opens]");
    if (button) document.getElementById(button.dataset.opens)?.showModal();
    const checks = event.target.closest("[data-checks]");
    if (checks) {
      const boxes = [...checks.form.elements].filter((each) => each.name === checks.dataset.checks);
      const on = !boxes.every((box) => box.checked);
      for (const box of boxes) box.checked = on;
    }
  });

  // The moment behind "3 days ago", in the zone and the words of who looks; without this file it is in UTC.
  document.addEventListener("pointerover", (event) => {
    const time = event.target.closest?.("time[datetime]");
    const at = time && new Date(time.dateTime);
    if (at && !Number.isNaN(at.valueOf())) {
      time.title = at.toLocaleString(document.documentElement.lang, { dateStyle: "full", timeStyle: "long" });
    }
  });

  // An address tells what is asked for and nothing else.
  one("#search")?.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });

  // A fragment that was answered by another page means that the session has ended: load that page.
  document.addEventListener("htmx:before:response", (event) => {
    if (event.detail.ctx.response.raw.redirected) {
      event.preventDefault();
      location.reload();
    }
  });
})();
