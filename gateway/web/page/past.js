// The day: its rounds as a strip, one of them shown, played, or held against another.

import { drawStrip, penOf } from "./draw.js";
import { get } from "./link.js";
import { at, clock, date, moment, say, t } from "./words.js";

const PAGE = 200, PAGES = 10; // of the API; of a day, so many at most
const STEP_MS = 700; // between two maps of a day that is played
const NEAR_S = 900; // rounds that are no further apart have the strip for themselves
const kept = new Map(); // by number: a map that was published does not change
const days = new Map(); // by its beginning: the rounds of a day that is over
let rounds = [], first_s = 0, turn = 0, playing = 0;

// What is looked at: the number of a round, null for the newest; and whom to tell of another.
export const view = { number: null, other: null, changed: () => {} };

const midnight = (at_s) => new Date(1000 * at_s).setHours(0, 0, 0, 0) / 1000;
const following = (start_s) => midnight(start_s + 26 * 3600); // a day has 23 to 25 hours
const closedOf = (round) => round.closed_s ?? round.opened_s;

// From when to when the strip goes: of a rehearsal, whose rounds last seconds, not all the day, in
// which their bars would lie on one another.
function span() {
  const from_s = rounds[0]?.at_s, to_s = rounds[rounds.length - 1]?.at_s;
  return from_s < to_s && to_s - from_s < NEAR_S ? [from_s, to_s] : [first_s, following(first_s)];
}

// The number of the first round that was opened at this time or later; null where there is none.
async function firstSince(at_s) {
  const newest = (await get("rounds?limit=1"))?.rounds[0];
  if (!newest || newest.opened_s < at_s) return null;
  let low = 1, high = newest.number;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const found = (await get(`rounds?limit=1&before=${middle + 1}`))?.rounds[0];
    if (found && found.opened_s >= at_s) high = found.number;
    else low = middle + 1;
  }
  return low;
}

// What the strip shows of rounds of the API, with what became of their maps.
function barsOf(told, maps) {
  const heads = new Map((maps?.maps || []).map((head) => [head.number, head]));
  return told.map((one) => ({ number: one.number, at_s: closedOf(one), part: (one.reports ?? 0) / (one.enrolled || one.reports || 1), solved: heads.get(one.number)?.status === "solved" }));
}

// The closed rounds of a day, oldest first; null where they cannot be had just now.
async function roundsOf(start_s) {
  if (days.has(start_s)) return days.get(start_s);
  const end_s = following(start_s), over = end_s < Date.now() / 1000;
  let before = over ? await firstSince(end_s) : null;
  const found = [];
  for (let page = 0; page < PAGES; page += 1) {
    const asked = `limit=${PAGE}${before ? `&before=${before}` : ""}`;
    const [told, maps] = await Promise.all([get(`rounds?${asked}`), get(`maps?${asked}`)]);
    if (!told) return null;
    found.push(...barsOf(told.rounds.filter((one) => one.closed_s !== null && closedOf(one) >= start_s && closedOf(one) < end_s), maps));
    if (!told.next || closedOf(told.rounds[told.rounds.length - 1]) < start_s) break;
    before = told.next;
  }
  found.reverse();
  if (over) days.set(start_s, found);
  return found;
}

// Return the newest round that has closed, or null; the strip gets what is new of its day.
export async function refreshDay() {
  const told = (await get("rounds?limit=5"))?.rounds.filter((one) => one.closed_s !== null) || [];
  if (!told.length) return null;
  at("time").hidden = false;
  const today = midnight(closedOf(told[0])), last = rounds[rounds.length - 1]?.number;
  if (!first_s || (view.number === null && first_s !== today)) await openDay(today);
  else if (first_s === today && !told.some(({ number }) => number === last)) await openDay(today);
  else if (first_s === today && (told[0].number > last || !rounds[rounds.length - 1].solved)) {
    // A round closes before its map is drawn.
    const since = told[told.length - 1].number, fresh = told.filter((one) => closedOf(one) >= today);
    rounds = [...rounds.filter(({ number }) => number < since), ...barsOf(fresh, await get("maps?limit=5")).reverse()];
    placeHead();
    redrawStrip();
  }
  return told[0];
}

// Show the strip of a day; true where it has rounds.
async function openDay(start_s) {
  const mine = ++turn, found = await roundsOf(start_s);
  if (!found || mine !== turn) return false;
  first_s = start_s;
  rounds = found;
  const local = new Date(1000 * start_s);
  at("day").value = `${local.getFullYear()}-${String(local.getMonth() + 1).padStart(2, "0")}-${String(local.getDate()).padStart(2, "0")}`;
  at("when").disabled = at("play").disabled = !rounds.length;
  say("time-note", rounds.length ? t("time.note") : t("time.none"));
  placeHead();
  redrawStrip();
  return rounds.length > 0;
}

// Put the slider where the shown map is, in words that a screen reader says, too.
function placeHead() {
  [at("when").min, at("when").max] = span();
  const shown = rounds.find(({ number }) => number === view.number) || (view.number === null ? rounds[rounds.length - 1] : null);
  if (!shown) return;
  at("when").value = shown.at_s;
  at("when").setAttribute("aria-valuetext", `${moment(shown.at_s)}, ${t("map.round", { n: shown.number })}`);
  say("moment", clock(shown.at_s));
}

export function redrawStrip() {
  const canvas = at("strip"), width = canvas.parentElement.clientWidth;
  if (!width || !first_s) return;
  const style = getComputedStyle(document.documentElement), ink = (name) => style.getPropertyValue(`--${name}`);
  const pen = penOf(canvas, width, 64);
  drawStrip(pen, rounds, ...span(), width, 64, { soft: ink("soft"), line: ink("line"), accent: ink("accent") });
}

// A map that was just drawn may be of an older round than those that have closed.
export function colour(map) {
  const bar = rounds.find(({ number }) => number === map.number);
  if (!bar) return;
  bar.solved = map.status === "solved";
  redrawStrip();
}

// A map with its round and release, as it was told; null where there is no such round. The map is
// null while it may yet be drawn.
export async function mapOf(number) {
  if (kept.has(number)) return kept.get(number);
  const [map, round, release] = await Promise.all(["maps/", "rounds/", "rounds/"].map((path, i) => get(`${path}${number}${i === 2 ? "/release" : ""}`)));
  if (!round) return null;
  const silent = round.outcome === "silent", over = map || silent || (await get("maps?limit=1"))?.maps[0]?.number > number;
  const none = over ? { number, status: "unresolved", why: t(silent ? "said.map.silence" : "map.none"), seconds: null, total: null, mass: null } : null;
  const shown = { map: map || none, release, at_s: closedOf(round), round };
  if (map) kept.set(number, shown); // else it may be drawn yet
  if (kept.size > 60) kept.delete(kept.keys().next().value);
  return shown;
}

// Look at a round by its number, or at the newest with null.
export function look(number) {
  view.number = number;
  say("notice", ""); // it was said of what was seen before
  at("now").setAttribute("aria-pressed", String(number === null));
  if (number === null) {
    say("now", t("time.live"));
    stop();
    const newest = rounds[rounds.length - 1];
    if (newest) placeHead();
    refreshDay();
  } else placeHead();
  view.changed();
}

// Begin with what a link asks for; returns a sentence where that is not to be had.
export async function begin(number) {
  if (number === null) return "";
  const round = /^[0-9]{1,15}$/.test(number) ? await get(`rounds/${number}`) : null;
  if (!round) return t("time.unknown", { n: number.slice(0, 15) });
  if (round.closed_s === null) return t("time.open", { n: number });
  await openDay(midnight(closedOf(round)));
  look(round.number);
  return "";
}

function step(by) {
  const now = rounds.findIndex(({ number }) => number === (view.number ?? rounds[rounds.length - 1]?.number));
  const next = rounds[Math.min(Math.max(now + by, 0), rounds.length - 1)];
  if (next && next.number !== view.number) look(next.number);
  return now + by < rounds.length - 1;
}

function stop() {
  clearInterval(playing);
  playing = 0;
  say("play", t("time.play"));
}

function play() {
  if (playing) {
    stop();
    return;
  }
  const last = rounds[rounds.length - 1]?.number;
  if (!last) return;
  say("play", t("time.pause"));
  if (view.number === null || view.number === last) look(rounds[0].number);
  playing = setInterval(() => { if (!step(1)) stop(); }, STEP_MS);
}

async function otherDay(start_s) {
  stop();
  if (await openDay(start_s)) look(rounds[rounds.length - 1].number);
  else if (start_s > Date.now() / 1000) {
    look(null);
    say("notice", t("time.future"));
  }
  else {
    const oldest = await get("rounds/1");
    if (oldest && closedOf(oldest) > following(start_s)) say("time-note", t("time.first", { day: date(closedOf(oldest)) }));
  }
}

at("when").addEventListener("input", () => {
  stop();
  const wanted = Number(at("when").value);
  const nearest = rounds.reduce((best, one) => (Math.abs(one.at_s - wanted) < Math.abs(best.at_s - wanted) ? one : best), rounds[0]);
  if (nearest && nearest.number !== view.number) look(nearest.number);
  else placeHead();
});
at("when").addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 12, PageDown: -12, Home: -1e6, End: 1e6 }[event.key];
  if (!by) return;
  event.preventDefault();
  stop();
  step(by);
});
at("play").addEventListener("click", play);
at("now").addEventListener("click", () => look(null));
at("day").addEventListener("change", () => { if (at("day").value) otherDay(new Date(`${at("day").value}T00:00`).getTime() / 1000); });
at("day-before").addEventListener("click", () => otherDay(midnight(first_s - 12 * 3600)));
at("day-after").addEventListener("click", () => otherDay(following(first_s)));
