// How the search of the site orders pages. Somebody who types a word wants to read about it first:
// guides come before the page of a name, unless what was typed is that very name.
var Scorer = {
  places: [
    ["tutorials/", 60],
    ["how_to/", 60],
    ["explanation/measured/", 20],
    ["explanation/", 50],
    ["reference/api/", 0],
    ["reference/", 40],
    ["auto_examples/", 30],
  ],
  score: (result) => {
    const [page, , , , score, , kind] = result;
    const place = Scorer.places.find(([start]) => page.startsWith(start));
    // Objects are names: only the whole name of one is worth more than a guide.
    return kind === "object" && score < Scorer.objNameMatch ? score / 10 : score + (place ? place[1] : 0);
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
