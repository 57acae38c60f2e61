// Earlier maps, one at a time, by a slider.

import { room } from "./draw.js";
import { get } from "./link.js";
import { picture } from "./maps.js";
import { at } from "./words.js";

const kept = new Map(); // by number; a map that was published does not change
let heads = [], wanted = 0;

export async function refreshPast() {
  const found = await get("maps?limit=200");
  if (!found || !found.maps.length || !room.cells) return;
  const last = Number(at("when").value) === heads.length - 1 || !heads.length;
  heads = found.maps.reverse();
  at("when").max = heads.length - 1;
  if (last) at("when").value = heads.length - 1;
  at("when").hidden = heads.length < 2;
  at("past").hidden = false;
  await showPast();
}

async function showPast() {
  const head = heads[Number(at("when").value)];
  if (!head) return;
  const said = `Round ${head.number}${head.status === "solved" ? "" : `: ${head.why}`}`;
  at("when").setAttribute("aria-valuetext", said);
  at("past-note").textContent = `${said}, of ${heads.length} that were drawn`;
  const turn = ++wanted;
  const map = kept.get(head.number) || await get(`maps/${head.number}`);
  if (!map || turn !== wanted) return; // the slider has moved on
  kept.set(head.number, map);
  if (kept.size > 50) kept.delete(kept.keys().next().value);
  picture(at("past"), map);
  at("past").dataset.number = head.number;
}

export function redrawPast() {
  if (heads.length) showPast();
}

at("when").addEventListener("input", showPast);
