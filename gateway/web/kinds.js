// In whose words the page speaks: those of the mechanism that is served, which `ready` brings.

import { at } from "./words.js";

let now = { people: false, one: "device", what: "" };

// The words and ways of the mechanism that is served.
export const kind = () => now;

export function dress({ reads, words }) {
  now = { people: reads === "place", one: words.who, what: words.of_all };
  for (const [id, text] of Object.entries(words.page)) at(id).textContent = text;
}
