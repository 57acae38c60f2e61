// In whose words the page speaks: warmth that sensors felt, or places that people's devices answered.

import { at } from "./words.js";

const THERMAL = {
  people: false, one: "sensor", what: "of the warmth ",
  texts: {
    "map-title": "Where the warmth is", "sources-title": "Likely sources", within: "Within", strength: "Strength",
    "sensors-title": "Sensors", "sensors-note": "No sensor has been heard of yet.", "sensor-head": "Sensor", "wire-title": "What the sensors sent",
    "wire-note": "One dot a sensor, already blurred, of the latest round. No more of a round than this is seen by anybody outside the sensors.",
    not: "This map is not a picture of people: every reading was blurred before it left its sensor, so it shows the neighbourhood of warmth and never an exact place, and a dark patch does not prove that nobody was there.",
  },
};
const PEOPLE = {
  people: true, one: "device", what: "of all people ",
  texts: {
    "map-title": "Where people are", "sources-title": "Fullest cells", within: "Give or take", strength: "People",
    "sensors-title": "Devices", "sensors-note": "No device has been heard of yet.", "sensor-head": "Device", "wire-title": "What the devices answered",
    "wire-note": "How often each cell was answered in the latest round. A device answers a cell near its own more often than one far away, and now and then one outside the frame, where nobody can be. Who listens on the way sees each answer with the name of its device, and the promise is made against them, too.",
    not: "This map shows no person: every device moved its own place at random before it answered, so only the shares of many are to be seen, each with what it may be off by, and of nobody where they were.",
  },
};
const KINDS = { disk: PEOPLE };

let now = THERMAL;

// The words and ways of the mechanism that is served.
export const kind = () => now;

export function dress(mechanism) {
  const next = KINDS[mechanism] || THERMAL;
  if (next === now) return;
  now = next;
  for (const [id, text] of Object.entries(next.texts)) at(id).textContent = text;
}
