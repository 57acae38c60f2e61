// All rooms of a floor beside each other, in one scale: ours, and those whose stores the gateway reads.

import { NIGHT, drawFloor, drawScale, greyed, heated, penOf, room } from "./draw.js";
import { get } from "./link.js";
import { amount, isDoubtful, kind } from "./maps.js";
import { at, clock, makeRow, moment, number, say, t, told } from "./words.js";

const REST_MS = 5000; // between two looks at what the other rooms show now
let others = [], own = null, asked = "", asked_ms = 0;

// Show the floor with our map; at_s is of a time that somebody looks back to, null for now. The last
// map of all does not grow old.
export async function showStorey(shown, at_s, last) {
  at("storey-box").hidden = !room.cells?.neighbours;
  if (at("storey-box").hidden) return;
  const { site, shape, cell_mm, floor, due_s } = room.cells, { map } = shown;
  // Of people those of one round: a map's total is the answers of all rounds that it is made from.
  const total = (kind.people ? map?.sensors_used : null) ?? map?.total ?? 0;
  const why = map?.status === "nobody" ? t("said.floor.nobody") : map ? told(map) : t("said.floor.none");
  own = { site, shape, cell_mm, floor, corner_m: [0, 0], due_s: last ? Infinity : due_s, at_s: shown.at_s, mass: map?.mass ?? null, total, doubted: isDoubtful(map), why };
  const wanted = at_s === null ? "floor" : `floor?at_s=${Math.ceil(at_s)}`;
  if (wanted !== asked || Date.now() - asked_ms > REST_MS) {
    [asked, asked_ms] = [wanted, Date.now()];
    const found = await get(wanted);
    if (asked !== wanted) return; // somebody has moved on
    others = found?.rooms ?? others;
  }
  redrawStorey(at_s);
}

const isOld = (one, then_s) => one.at_s !== null && then_s - one.at_s > one.due_s;
const sides = ({ shape, cell_mm }) => shape.map((cells) => (cells * cell_mm) / 1000);
// How much of a room's map is on a square metre of each cell.
const densest = ({ mass, total, cell_mm }) => (mass ? (Math.max(...mass.flat()) * total) / (cell_mm / 1000) ** 2 : 0);

let past_s = null;
export function redrawStorey(at_s = past_s) {
  past_s = at_s;
  if (!own || at("storey-box").hidden) return;
  const rooms = [own, ...others], then_s = at_s ?? Date.now() / 1000;
  const trusted = rooms.filter((one) => !one.doubted && !isOld(one, then_s)), most = Math.max(0, ...trusted.map(densest)) || 1;
  draw(rooms, then_s, most);
  drawScale(penOf(at("storey-ramp"), 112, 10), heated, 1, 0, 0, 112);
  say("storey-most", number(most, most < 10 ? 2 : 0));
  say("storey-what", t(`storey.scale.${kind.people ? "people" : kind.unit}`));
  say("storey-all", at("strength").textContent);
  const lines = rooms.map((one) => {
    const when = one.mass ? (then_s - one.at_s < 43_200 ? clock : moment)(one.at_s) : told(one);
    const state = one.mass && one.doubted ? t("storey.doubted", { at: when }) : one.mass && isOld(one, then_s) ? t("storey.old", { at: when }) : when;
    return [one === own ? t("storey.here", { room: one.site }) : one.site, one.mass && !one.doubted ? amount(one.total) : "–", state];
  });
  at("storey-rooms").replaceChildren(...lines.map((cells) => makeRow(...cells)));
  at("storey").setAttribute("aria-label", `${t("storey.title")}: ${lines.map(([site, all, state]) => `${site} ${all} (${state})`).join(", ")}`);
}

function draw(rooms, then_s, most) {
  const corners = rooms.map((one) => [one.corner_m, one.corner_m.map((edge, i) => edge + sides(one)[i])]);
  const least = [0, 1].map((i) => Math.min(...corners.map(([low]) => low[i]))), far = [0, 1].map((i) => Math.max(...corners.map(([, high]) => high[i])));
  const width = Math.max(at("storey").parentElement.clientWidth, 120), [wide, high] = [0, 1].map((i) => far[i] - least[i]);
  const scale = Math.min((width - 24) / wide, Math.max(0.6 * window.innerHeight, 240) / high), height = Math.ceil(high * scale + 24);
  const pen = penOf(at("storey"), width, height), left = (width - wide * scale) / 2;
  pen.fillStyle = NIGHT;
  pen.fillRect(0, 0, width, height);
  for (const one of rooms) {
    const [x, y] = one.corner_m.map((edge, i) => (edge - least[i]) * scale + (i ? 12 : left)), cell = (one.cell_mm / 1000) * scale;
    const paint = one.doubted || isOld(one, then_s) ? greyed : heated, each = (one.cell_mm / 1000) ** 2 * most;
    (one.mass || []).forEach((row, j) => row.forEach((share, i) => {
      pen.fillStyle = paint((share * one.total) / each);
      const [a, b, c, d] = [x + i * cell, y + j * cell, x + (i + 1) * cell, y + (j + 1) * cell].map(Math.round);
      pen.fillRect(a, b, c - a, d - b);
    }));
    const ours = (room.cells.cell_mm / 1000) * scale, bare = { walls: [], doors: [], windows: [], furniture: [] };
    drawFloor(pen, one.floor || bare, (i, j) => [x + i * ours, y + j * ours], ours, undefined, sides(one));
    pen.font = "bold 13px system-ui, sans-serif";
    [pen.lineWidth, pen.strokeStyle, pen.fillStyle] = [4, NIGHT, "#fff"];
    pen.strokeText(one.site, x + 8, y + 20);
    pen.fillText(one.site, x + 8, y + 20);
  }
}
