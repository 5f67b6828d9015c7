"use strict";
/* The calculator works without this file. With it: the answer is read aloud, the chosen figure is kept. */
(() => {
  const spoken = document.getElementById("spoken");
  const ask = document.getElementById("ask");
  const small = matchMedia("(max-width: 820px)");
  let shown = "";

  const ready = () => {
    const kept = shown && document.getElementById(shown);
    if (kept) kept.checked = true;
  };

  document.addEventListener("change", (event) => {
    if (event.target.name === "shown") shown = event.target.id;
  });

  document.body.addEventListener("htmx:afterSettle", () => {
    ready();
    const said = document.getElementById("said");
    if (said) spoken.textContent = said.textContent;
  });

  document.body.addEventListener("htmx:configRequest", (event) => {
    /* The choice of a figure is no part of the question. */
    delete event.detail.parameters.shown;
  });

  /* On a small screen the answer comes first: the question folds to its line, unless it has to be mended. */
  if (small.matches && !document.querySelector(".faults")) ask.open = false;
  ready();
})();
