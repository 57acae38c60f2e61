// The live page: hears what the gateway tells and shows it. Everything it gets is public already.

import { cellAt, canKeep, keepPng, keepSvg, kind, layerOf, mostOf, read, sheetOf, show, showWire, speakFor, tell } from "./maps.js";
import { room, turned } from "./draw.js";
import { follow, get, leave, link } from "./link.js";
import { drawPromise, refreshDevices, showAlarms, showClosed, showDone, showHealth, showLeft, showPromise, showQuarantine, showReports, showRound } from "./panels.js";
import { begin, colour, mapOf, redrawStrip, refreshDay, view } from "./past.js";
import { redrawStorey, showStorey } from "./storey.js";
import { age, at, clock, dress, language, moment, number, say, t, whose } from "./words.js";

const latest = {};
let layer = null, shown = { map: null, release: null, at_s: null }, other = null, drawing = null, cell = null, closed = null, stored = null;

// --- the view: which map, which layer, held against which other; it stands in the address ---

const hash = new URLSearchParams(location.hash.slice(1));
layer = hash.get("show");

function addressOf(number) {
  const now = new URLSearchParams();
  if (number !== null) now.set("round", number);
  if (view.other !== null) now.set("with", view.other);
  if (layer) now.set("show", layer);
  if (hash.get("lang")) now.set("lang", language);
  return now.toString();
}

function writeAddress() {
  const text = addressOf(view.number), hash = text && `#${text}`;
  if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname);
}

// The newest map with the release of its round, and when that closed.
function live() {
  const map = latest.map || stored?.map || null, release = latest.release || stored?.release || null;
  return { map, release: release && map && release.number !== map.number ? null : release, at_s: (latest.map ? latest.map.closed_s ?? (closed?.number === map.number ? closed.closed_s : null) : stored?.at_s) ?? null };
}

async function change() {
  writeAddress();
  const wanted = view.number, against = view.other;
  const found = wanted === null ? live() : await mapOf(wanted);
  const held = against === null ? null : await mapOf(against);
  if (wanted !== view.number || against !== view.other || !found) return; // somebody has moved on
  if (found.release) found.release = { ...room.cells?.wire, ...found.release };
  if (against !== null && !held) {
    view.other = null;
    writeAddress();
    say("notice", t("time.alone", { n: against }));
  }
  [shown, other] = [found, held];
  draw();
  showStorey(shown, layer, wanted === null ? null : found.at_s, Boolean(lastOf(shown.map)));
}
view.changed = change;

function draw() {
  if (!room.cells) return;
  at("beside").hidden = !other;
  at("stage").dataset.two = other ? "yes" : "";
  at("compare").setAttribute("aria-pressed", String(Boolean(other)));
  const least = other ? Math.max(mostOf(shown, layer), mostOf(other, layer)) : 0; // one scale for both
  drawing = show(at("map"), shown, layer, least);
  if (other) show(at("other"), other, layer, least);
  say("other-when", other ? whenOf(other) : "");
  tell(shown, drawing);
  showWire(shown.release ? shown : { release: view.number === null ? latest.release || stored?.release : null });
  for (const id of ["keep-png", "keep-svg"]) at(id).disabled = !canKeep(shown);
  tellAge();
}

function whenOf({ map, at_s }) {
  if (!map) return "";
  const span = map.mass && map.first && map.first < map.number ? "map.rounds" : "map.round";
  return [t(span, { n: number(map.number), first: number(map.first) }), at_s ? moment(at_s) : "", map.mass ? "" : t("map.none")].filter(Boolean).join(" · ");
}

// Whether a round that was told of has not closed yet, as far as is known.
function isOpen() {
  const { round, release, done } = latest;
  return !done && round?.number > Math.max(release?.number ?? 0, closed?.number ?? 0);
}

// What a map is after which none will come, as far as is known; empty for any other.
function lastOf(map) {
  const { budget, done, round } = latest, spent = budget && !budget.rounds_left && !budget.window_h;
  if (view.number !== null || !map?.mass || round?.number > map.number) return "";
  return spent ? t("map.last") : done ? t("map.ended") : "";
}

// A map grows old unless it is the last; after the gateway has gone it fades, with its age.
function tellAge() {
  const last = lastOf(shown.map);
  say("map-when", [whenOf(shown), last].filter(Boolean).join(" · "));
  const now_s = Date.now() / 1000, old_s = shown.at_s ? now_s - shown.at_s : null;
  const lost = link.lost_s !== null && now_s - link.lost_s > 3, stale = view.number === null && !last && old_s > room.cells?.due_s;
  at("stage").dataset.stale = lost || stale ? "yes" : "";
  at("main").toggleAttribute("data-lost", lost);
  at("aged").hidden = !(lost || stale);
  say("aged-why", lost ? t("map.gone", { at: clock(link.lost_s ?? now_s) }) : stale ? t("map.stale") : "");
  // Beside what is read aloud, which would be read again each time that the age changes.
  say("aged-for", stale || (lost && old_s !== null && view.number === null) ? t("map.aged", { age: age(old_s) }) : "");
}
setInterval(tellAge, 1000);

// --- what the gateway tells ---

const hear = {
  ready: (event) => {
    room.cells = event;
    speakFor(event);
    say("site", `${event.site} · ${number(event.enrolled)} ${whose(event.enrolled, kind.who)}`);
    document.title = `${event.site} · heatveil`;
    at("clear").hidden = !event.insecure;
    if (event.picture) loadPicture();
    change();
  },
  round: (event) => {
    showRound(event);
    if (closed) showClosed(closed, event);
  },
  reports: showReports,
  budget: (event) => showLeft(event, latest.ready, isOpen()),
  health: showHealth,
  alarm: showAlarms,
  quarantine: showQuarantine,
  map: (event) => {
    colour(event);
    if (view.number === null) change();
    else say("now", t("time.newer")); // whoever looks back is left where they are
  },
  release: (event) => {
    if (view.number !== null || !room.cells) return;
    if (latest.map?.number === event.number) change();
    else showWire({ release: event }); // its map is yet to come
  },
  promise: showPromise,
  done: showDone,
};

// The operator's own picture of the floor or the ground, under the map.
function loadPicture() {
  const image = new Image();
  image.onload = () => { room.picture = image; draw(); };
  image.onerror = () => say("notice", t("picture.none"));
  image.src = "/floor";
}

// Pictures of the store, asked for when something has changed in it, and not for every event.
// Not all pages at once: the gateway has its own work to do when a round has closed.
let due = 0, begun = false;
function refreshSoon() {
  clearTimeout(due);
  due = setTimeout(refresh, 300 + 500 * Math.random());
}

async function refresh() {
  if (document.hidden) return;
  const before = latest.health, health = await get("health");
  // What was told while we asked is newer.
  if (health && latest.health === before) showHealth(health);
  if (!health || !health.reads || !room.cells) return;
  closed = (await refreshDay()) || closed;
  if (closed) showClosed(closed, latest.round || latest.reports, latest.done);
  // After a start nothing has been told of the newest round: then it is looked up.
  if (closed && !(latest.map && latest.release)) stored = await mapOf(closed.number);
  if (!begun) {
    begun = true;
    view.other = /^[0-9]{1,15}$/.test(hash.get("with") || "") ? Number(hash.get("with")) : null;
    const said = await begin(hash.get("round"));
    if (said) say("notice", said);
    at("compare").hidden = false;
  }
  if (view.number === null) change();
  if (link.names) refreshDevices(closed);
}

function take(event) {
  if (event.kind === "reset") {
    Object.keys(latest).forEach((kind) => delete latest[kind]);
    Object.values(event.events).forEach(take);
    return;
  }
  latest[event.kind] = event;
  hear[event.kind]?.(event);
  if (["ready", "round", "release", "done"].includes(event.kind) && latest.budget) hear.budget(latest.budget);
  if (["ready", "release", "map", "quarantine", "alarm"].includes(event.kind)) refreshSoon();
}

// --- what somebody does with it ---

function readCell() {
  say("readout", cell && shown.map && drawing ? read(shown, layer, cell) : "");
}

at("map").addEventListener("pointermove", (event) => { cell = cellAt(shown, layer, event); readCell(); });
at("map").addEventListener("pointerleave", () => { cell = null; readCell(); });
at("map").addEventListener("keydown", (event) => {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!way || !drawing) return;
  event.preventDefault();
  const by = turned(way);
  const { cells } = layerOf(shown.map, layer), last = [cells[0].length - 0.5, cells.length - 0.5];
  cell = (cell || last.map((most) => most / 2)).map((at, i) => Math.min(Math.max(at + by[i], 0.5), last[i]));
  readCell();
});
at("layers").addEventListener("click", (event) => {
  if (!event.target.dataset.layer) return;
  layer = event.target.dataset.layer;
  writeAddress();
  draw();
  redrawStorey(layer);
});
at("compare").addEventListener("click", () => {
  view.other = view.other === null ? shown.map?.number ?? null : null;
  say("notice", view.other === null ? "" : t("tools.comparing"));
  change();
});
at("keep-png").addEventListener("click", () => keepPng(sheetOf(shown, layer)));
at("keep-svg").addEventListener("click", () => keepSvg(sheetOf(shown, layer)));
at("copy").addEventListener("click", async () => {
  // What is seen now, and not what is live then.
  const url = `${location.origin}/#${addressOf(view.number ?? shown.map?.number ?? null)}`;
  try {
    await navigator.clipboard.writeText(url);
    say("notice", t("tools.copied"));
  } catch {
    say("notice", t("tools.uncopied", { url }));
  }
});
at("language").addEventListener("click", () => {
  hash.set("lang", language === "de" ? "en" : "de");
  const now = new URLSearchParams(location.hash.slice(1));
  now.set("lang", hash.get("lang"));
  location.hash = now;
  location.reload();
});
at("leave").addEventListener("click", leave);

function redraw() {
  draw();
  redrawStrip();
  redrawStorey(layer);
  drawPromise();
}

dress();
follow([...Object.keys(hear), "reset"], take, refreshSoon);
setInterval(refresh, 60_000); // silence grows without an event
document.addEventListener("visibilitychange", refreshSoon);
window.addEventListener("resize", redraw);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
// A link that was opened in this very tab; the one to the map only moves within the page.
window.addEventListener("hashchange", () => { if (location.hash.includes("=")) location.reload(); });
if (navigator.serviceWorker && window.isSecureContext) navigator.serviceWorker.register("/worker.js").catch(() => {});
