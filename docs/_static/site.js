/* scikit-learn's diagrams choose light or dark when the page is read, before the theme of the page is
   known, and do not follow when a reader changes it: let them. */
function themeDiagrams() {
  const theme = document.documentElement.dataset.theme === "dark" ? "dark" : "light";
  for (const diagram of document.querySelectorAll(".sk-top-container")) {
    diagram.classList.remove("light", "dark");
    diagram.classList.add(theme);
  }
}
document.addEventListener("DOMContentLoaded", () => {
  themeDiagrams();
  new MutationObserver(themeDiagrams).observe(document.documentElement, {
    attributes: true,
    attributeFilter: ["data-theme"],
  });
});
