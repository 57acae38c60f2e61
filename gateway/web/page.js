// The live page: hears what the gateway tells and shows it. Everything it gets is public already.

import { room } from "./draw.js";
import { dress, kind } from "./kinds.js";
import { follow, get } from "./link.js";
import { showMap, showWire } from "./maps.js";
import { showAlarms, showHealth, showLeft, showQuarantine, showReports } from "./panels.js";
import { redrawPast, refreshPast } from "./past.js";
import { refreshRounds } from "./rounds.js";
import { refreshSensors } from "./sensors.js";
import { at, items, plural } from "./words.js";

const latest = {};
const drawn = ["map", "release"];

const show = {
  ready: (event) => {
    room.cells = event;
    dress(event);
    at("site").textContent = `${event.site}, ${plural(event.enrolled, kind().one)}`;
    at("clear").hidden = !event.insecure;
  },
  round: (event) => {
    at("round-number").textContent = event.number;
    at("reports-note").textContent = `asking ${plural(event.enrolled, kind().one)}`;
    at("missing").textContent = "";
  },
  reports: showReports,
  budget: showLeft,
  health: showHealth,
  alarm: showAlarms,
  quarantine: showQuarantine,
  map: (event) => { if (room.cells) showMap(event); },
  release: (event) => { if (room.cells) showWire(event); },
  promise: (event) => items(at("promise"), event.sentences),
  done: (event) => { at("reports-note").textContent = `no more rounds: ${event.why}`; },
};

// Pictures of the store, asked for when something has changed in it, and not for every event.
// Not all pages at once: the gateway has its own work to do when a round has closed.
let due = 0;
function refreshSoon() {
  clearTimeout(due);
  due = setTimeout(refresh, 300 + 500 * Math.random());
}

async function refresh() {
  if (document.hidden) return;
  const before = latest.health, health = await get("health");
  // What was told while we asked is newer.
  if (health && latest.health === before) showHealth(health);
  if (!health || !health.reads) return;
  refreshPast();
  refreshSensors(await refreshRounds(() => latest.round || latest.reports));
}

function take(event) {
  if (event.kind === "reset") {
    Object.keys(latest).forEach((kind) => delete latest[kind]);
    Object.values(event.events).forEach(take);
    return;
  }
  latest[event.kind] = event;
  show[event.kind]?.(event);
  if (event.kind === "ready") drawn.forEach((kind) => latest[kind] && show[kind](latest[kind]));
  if (["ready", "release", "map", "quarantine", "alarm"].includes(event.kind)) refreshSoon();
}

follow([...Object.keys(show), "reset"], take, refreshSoon);
setInterval(refresh, 60_000); // silence grows without an event
document.addEventListener("visibilitychange", refreshSoon);
window.addEventListener("resize", () => {
  drawn.forEach((kind) => latest[kind] && show[kind](latest[kind]));
  redrawPast();
});
