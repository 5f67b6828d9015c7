"use strict";
/* The button that prints; without a script the browser's own menu does. */
(() => {
  const button = document.getElementById("print");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => print());
})();
