/* The page's own script: charts in the colours of the theme, theme switch, copying, menus, toasts.
   Every page answers without it: tables and sentences are in the HTML. */
(() => {
  "use strict";
  const root = document.documentElement;
  const phone = window.matchMedia("(max-width: 719px)");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  root.classList.add("js");

  /* Figures are cached once and serve both themes: a string "@name" stands for the value of --name. */
  const resolve = (value, style) => {
    if (typeof value === "string") {
      return value[0] === "@" ? style.getPropertyValue(`--${value.slice(1)}`).trim() : value;
    }
    if (Array.isArray(value)) {
      return value.length && typeof value[0] === "number" ? value : value.map((item) => resolve(item, style));
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(item, style)]));
    }
    return value;
  };

  const figures = new WeakMap();
  const source = (plot) => {
    if (!figures.has(plot)) {
      figures.set(plot, JSON.parse(document.getElementById(plot.dataset.figure).textContent));
      plot.replaceChildren();
    }
    return figures.get(plot);
  };

  const draw = (plot) => {
    if (!window.Plotly || !plot.isConnected || !plot.offsetParent) return;
    const figure = source(plot);
    const style = getComputedStyle(root);
    const layout = phone.matches && figure.phone ? { ...figure.layout, ...figure.phone } : figure.layout;
    window.Plotly.react(plot, resolve(figure.data, style), resolve(layout, style), {
      displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false, showTips: false,
    });
  };
  const drawAll = (within) => (within || document).querySelectorAll("[data-figure]").forEach(draw);

  /* Theme: the attribute decides, the server remembers it in a cookie, so the first paint is right. */
  const setTheme = (choice) => {
    if (choice === "auto") delete root.dataset.theme; else root.dataset.theme = choice;
    document.querySelectorAll("[data-theme-choice]").forEach((button) => {
      button.setAttribute("aria-pressed", String(button.value === choice));
    });
  };
  new MutationObserver(() => drawAll()).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  dark.addEventListener("change", () => drawAll());
  phone.addEventListener("change", () => drawAll());

  const say = (text) => {
    const area = document.getElementById("toasts");
    if (!area) return;
    const toast = document.createElement("div");
    toast.className = "toast";
    toast.append(text);
    area.append(toast);
    setTimeout(() => toast.remove(), 8000);
  };

  const copy = async (text, done) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      /* Without a secure context (plain http on a LAN) the clipboard is closed: select a field instead. */
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    say(done);
  };

  document.addEventListener("click", (event) => {
    const target = event.target.closest("button, a, summary");
    document.querySelectorAll("details.menu[open], details.pick[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
    if (!target) return;
    if (target.matches("[data-copy-link]")) copy(window.location.href, target.dataset.copyLink);
    if (target.matches("[data-copy]")) {
      copy(document.getElementById(target.dataset.copy).textContent.trim(), target.dataset.copied);
    }
    if (target.matches("[data-dismiss]")) target.closest(".toast").remove();
    if (target.matches("[data-theme-choice]")) {
      event.preventDefault();
      setTheme(target.value);
      const body = new FormData(target.form);
      body.set("theme", target.value);
      fetch(target.form.action, { method: "POST", body, headers: { "X-Requested-With": "fetch" } });
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details.menu[open], details.pick[open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  /* A chart inside a closed <details> has no size: draw it when it opens. */
  document.addEventListener("toggle", (event) => {
    if (event.target.open) drawAll(event.target);
  }, true);

  document.addEventListener("htmx:afterSwap", (event) => {
    drawAll(event.target);
    const title = event.target.querySelector("[data-title]");
    if (title) document.title = title.dataset.title;
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-autosubmit]");
    if (!form || window.htmx) return;
    /* The page comes again: who chose by keyboard goes on where they were. */
    sessionStorage.setItem("chose", event.target.name);
    form.requestSubmit();
  });

  const start = () => {
    drawAll();
    const chose = sessionStorage.getItem("chose");
    sessionStorage.removeItem("chose");
    if (chose) document.querySelector(`form[data-autosubmit] [name="${CSS.escape(chose)}"]`)?.focus({ preventScroll: true });
    document.querySelectorAll(".toast:not(.error)").forEach((toast) => setTimeout(() => toast.remove(), 8000));
  };
  /* Deferred scripts run before DOMContentLoaded: plotly.js, which comes after this one, is there by then. */
  if (document.readyState === "complete") start();
  else document.addEventListener("DOMContentLoaded", start);
})();
