"use strict";
/* Buttons that copy: `data-copy` is the text, `data-said` what is said when it was copied. Pages work without them. */
(() => {
  const spoken = document.getElementById("spoken");
  const show = () => {
    for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button || !navigator.clipboard) return;
    event.preventDefault();
    const words = button.dataset.words || button.textContent;
    button.dataset.words = words;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = button.dataset.said;
      if (spoken) spoken.textContent = button.dataset.said;
    } catch {
      button.textContent = words;
    }
    setTimeout(() => { button.textContent = words; }, 1800);
  });

  document.body.addEventListener("htmx:afterSettle", show);
  show();
})();
