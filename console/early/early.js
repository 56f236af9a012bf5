// Runs before the first paint: sets the chosen theme, and shows a sentence to an old browser.
// Written for browsers of any age; everything else of the console needs a modern one.
(function () {
  var root = document.documentElement;
  var theme = null;
  try {
    theme = window.localStorage.getItem("farebox.theme");
  } catch (error) {
    theme = null; // storage is switched off: the system's theme is used
  }
  if (theme === "light" || theme === "dark") root.setAttribute("data-theme", theme);

  var isModern =
    "noModule" in document.createElement("script") &&
    typeof window.HTMLDialogElement === "function" &&
    typeof Array.prototype.findLast === "function" &&
    typeof window.AbortSignal === "function" &&
    typeof window.AbortSignal.timeout === "function";
  root.className += isModern ? " modern" : " old-browser";
})();
