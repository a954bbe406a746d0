// How the search of the site orders pages. Somebody who types a word wants to read about it first, so
// guides come before the page of a name. A name that is no word ("SBFTAuditor", "selection_table") is
// looked for itself: its own page comes first.
var Scorer = {
  places: [
    ["explanation/measured/", 20],
    ["tutorials/", 60],
    ["how_to/", 60],
    ["explanation/", 60],
    ["reference/api/", 0],
    ["reference/", 40],
    ["auto_examples/", 30],
  ],
  score: (result) => {
    const [page, title, , , score, , kind] = result;
    const place = Scorer.places.find(([start]) => page.startsWith(start));
    if (kind !== "object") return score + (place ? place[1] : 0);
    const isNamed = score >= Scorer.objNameMatch && /[A-Z_]/.test(title.split(".").pop());
    return isNamed ? score : score / 20;
  },
  objNameMatch: 200,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
