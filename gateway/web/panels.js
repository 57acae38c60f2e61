// What is told in words: what does not work, who answered, what is left of the promise.

import { kind } from "./kinds.js";
import { ago, at, items, plural } from "./words.js";

const PARTS = { store: "Store", disk: "Disk", broker: "Broker", solver: "Drawing of maps", rounds: "Rounds", workers: "Workers" };

export function showHealth({ parts }) {
  const wrong = Object.entries(parts).filter(([, part]) => !part.ok);
  at("health").hidden = !wrong.length;
  items(at("faults"), wrong.map(([name, { why }]) => `${PARTS[name] || name}: ${why}`));
}

export function showAlarms({ alarms }) {
  at("alarm").hidden = !alarms.length;
  items(at("alarms"), alarms.map(({ why, times }) => (times > 1 ? `${why} (${times} times)` : why)));
}

export function showQuarantine({ devices }) {
  at("quarantine").hidden = !devices.length;
  items(at("quarantined"), devices.map(({ device, why, since_s }) => `${device}: ${why}${since_s ? ` (${ago(since_s)})` : ""}`));
}

export function showReports({ number, came, enrolled, refused, late, quorum }) {
  at("round-number").textContent = number;
  at("reports").max = enrolled;
  at("reports").value = came;
  at("reports-note").textContent = `${came} of ${plural(enrolled, kind().one)} answered`;
  const short = [];
  if (enrolled > came) short.push(`${enrolled - came} missing`);
  if (late) short.push(`${late} late`);
  if (quorum > 1) short.push(`${quorum} needed for a map`);
  at("missing").textContent = short.join(", ");
  at("refused").textContent = refused ? `${plural(refused, "message")} refused` : "";
}

export function showLeft({ rounds_left: left, budget, spent, epsilon, epsilon_spent: gone, unit }) {
  at("left").textContent = `${plural(left, "round")} left`;
  const share = budget ? spent / budget : 0;
  at("budget").value = share;
  const gave = unit === "epsilon" ? "each device gave away" : "together they gave away";
  at("budget-note").textContent = `${Math.round(100 * share)} % of the rounds spent; ${gave} epsilon ${gone.toFixed(2)} of ${epsilon.toFixed(2)}`;
}
