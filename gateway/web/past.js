// Earlier maps, one at a time, by a slider.

import { room } from "./draw.js";
import { get } from "./link.js";
import { picture } from "./maps.js";
import { at } from "./words.js";

const kept = new Map(); // by number; a map that was published does not change
let heads = [], wanted = 0;
const MOST = 200; // maps that the slider reaches

// The first time all that the slider reaches, then what has come since.
async function newer() {
  const few = heads.length ? await get("maps?limit=5") : null;
  const newest = heads.length ? heads[heads.length - 1].number : 0;
  const joins = few && few.maps.some((one) => one.number === newest);
  if (joins) return [...heads, ...few.maps.reverse().filter((one) => one.number > newest)].slice(-MOST);
  const all = await get(`maps?limit=${MOST}`);
  return all ? all.maps.reverse() : heads;
}

export async function refreshPast() {
  if (!room.cells) return;
  const found = await newer();
  if (!found.length) return;
  const shown = heads[Number(at("when").value)];
  const last = !shown || shown === heads[heads.length - 1];
  const moved = found.findIndex((one) => !last && one.number === shown.number);
  heads = found;
  at("when").max = heads.length - 1;
  at("when").value = last ? heads.length - 1 : Math.max(moved, 0);
  at("when").hidden = heads.length < 2;
  at("past").hidden = false;
  await showPast();
}

// Which one it is, in words that a screen reader says, too.
function say(head, map) {
  const when = map ? `, ${map.when}` : "";
  const said = `Round ${head.number}${when}${head.status === "solved" ? "" : `: ${head.why}`}`;
  at("when").setAttribute("aria-valuetext", said);
  const doubt = map && map.verdict && map.verdict.says ? `. ${map.verdict.says}` : "";
  at("past-note").textContent = `${said} (${heads.length} can be looked at)${doubt}`;
}

// A map, and when its round closed.
async function asked(number) {
  const [map, round] = await Promise.all([get(`maps/${number}`), get(`rounds/${number}`)]);
  return map && round && { ...map, when: written(round.closed_s ?? round.opened_s) };
}

const written = (then_s) => new Date(1000 * then_s).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

async function showPast() {
  const head = heads[Number(at("when").value)];
  if (!head) return;
  const turn = ++wanted;
  say(head, kept.get(head.number));
  const map = kept.get(head.number) || await asked(head.number);
  if (!map || turn !== wanted) return; // the slider has moved on
  say(head, map);
  kept.set(head.number, map);
  if (kept.size > 50) kept.delete(kept.keys().next().value);
  picture(at("past"), map);
  at("past").dataset.number = head.number;
}

export function redrawPast() {
  if (heads.length) showPast();
}

at("when").addEventListener("input", showPast);
