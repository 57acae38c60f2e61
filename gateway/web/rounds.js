// When the last round closed, and how it went where nothing has been told of one since the start.

import { kind } from "./kinds.js";
import { get } from "./link.js";
import { ago, at, plural } from "./words.js";

// Return the newest round that has closed, or null.
export async function refreshRounds(told) {
  const found = await get("rounds?limit=5");
  const closed = found && found.rounds.find((one) => one.closed_s !== null);
  if (!closed) return null;
  at("age").textContent = `Round ${closed.number} closed ${ago(closed.closed_s)}`;
  if (!told()) {
    const enrolled = Math.max(closed.enrolled ?? closed.reports, 1);
    at("round-number").textContent = closed.number;
    at("reports").max = enrolled;
    at("reports").value = closed.reports;
    at("reports-note").textContent = `${closed.reports} of ${plural(enrolled, kind().one)} answered`;
  }
  return closed;
}
