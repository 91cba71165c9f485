// Sets light or dark before the first paint, so that a dark page does not flash white.
(function () {
  var stored = null;
  try {
    stored = localStorage.getItem("mantine-color-scheme-value");
  } catch {
    // Storage may be switched off; the system's choice stands.
  }
  var isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  var scheme = stored === "light" || stored === "dark" ? stored : isDark ? "dark" : "light";
  document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
})();
