// All rooms of a floor beside each other, in one scale: ours, and those whose stores the gateway reads.

import { NIGHT, doubted, drawCells, drawScale, greyed, heated, inRoom, penOf, room } from "./draw.js";
import { get } from "./link.js";
import { allOf, amount, cellSize, densityOf, isDoubtful, keepPng, keepSvg, kind, solved, sureWords } from "./maps.js";
import { at, clock, fillList, moment, number, percent, say, t, told } from "./words.js";

const REST_MS = 5000; // between two looks at what the other rooms show now
let others = [], own = null, then_s = null, layer = null, asked = "", asked_ms = 0;

// Show the floor with our map; at_s is of a time that somebody looks back to, null for now. The last
// map of all does not grow old.
export async function showStorey(shown, wanted, at_s, last) {
  at("storey-box").hidden = !room.cells?.neighbours;
  if (at("storey-box").hidden) return;
  own = { ...room.cells, earth: null, corner_m: [0, 0], due_s: last ? null : room.cells.due_s, at_s: shown.at_s, map: shown.map, code: "floor.none" };
  then_s = at_s;
  const path = at_s === null ? "floor" : `floor?at_s=${Math.ceil(at_s)}`;
  if (path !== asked || Date.now() - asked_ms > REST_MS) {
    [asked, asked_ms] = [path, Date.now()];
    const found = await get(path);
    if (asked !== path) return; // somebody has moved on
    others = found?.rooms ?? others;
  }
  redrawStorey(wanted);
}

const sides = ({ shape, cell_mm }) => shape.map((cells) => (cells * cell_mm) / 1000);
const isOld = (one) => one.due_s !== null && one.at_s !== null && (then_s ?? Date.now() / 1000) - one.at_s > one.due_s;

// A room with what is drawn of it, and the line that says how it is.
function look(one) {
  const { map, site, at_s } = one, has = solved(map), old = has && isOld(one), bad = has && isDoubtful(map);
  const when = at_s && map ? (Date.now() / 1000 - at_s < 43_200 ? clock : moment)(at_s) : "";
  const state = has ? (bad || old ? t(bad ? "storey.doubted" : "storey.old", { at: when }) : when) : map ? told(map) : t(`said.${one.code}`);
  const words = inRoom(one, () => (has ? sureWords(map) : map?.status === "nobody" ? t("map.nobody", { p: percent(map.nobody ?? 1) }) : ""));
  return {
    ...one,
    line: [one === own ? t("storey.here", { room: site }) : site, has && !bad ? `${at("strength").textContent} ${amount(allOf(map))}` : "", map?.status === "nobody" ? when : state, words],
    trusted: has && !old && !bad,
    drawing: has ? inRoom(one, () => densityOf(map, layer, (own.cell_mm / 1000) ** 2)) : { cells: [], sources: [], faint: null, silent: null },
  };
}

export function redrawStorey(wanted) {
  layer = wanted;
  if (!own || at("storey-box").hidden) return;
  let rooms = [own, ...others].map(look);
  // A room whose maps have no such layer shows its shares: then all do, in one scale.
  if (new Set(rooms.filter((one) => one.trusted).map((one) => one.drawing.id)).size > 1) {
    layer = "share";
    rooms = [own, ...others].map(look);
  }
  const trusted = rooms.filter((one) => one.trusted);
  const most = Math.max(0, ...trusted.map(({ drawing }) => drawing.most)) || 1, id = (trusted[0] ?? rooms.find(({ map }) => solved(map)))?.drawing.id;
  const paint = id === "sd" ? doubted : heated, unit = t(`storey.scale.${kind.people ? "people" : kind.unit}`);
  const amounts = `${number(most, most < 10 ? 2 : 0)}\u00a0${id === "sd" ? t("storey.scale.sd", { unit }) : unit}`;
  const scale = { least: "0", paint, most: id === "chance" ? `${percent(Math.min(most, 1))}  ${t("legend.chance", { size: cellSize() })}` : amounts };
  const width = Math.max(at("storey").parentElement.clientWidth, 120), height = tallOf(rooms, width, Math.max(0.6 * window.innerHeight, 240));
  draw(penOf(at("storey"), width, height), rooms, most, width, height);
  drawScale(penOf(at("storey-ramp"), 112, 10), paint, 1, 0, 0, 112);
  say("storey-what", scale.most);
  const lines = rooms.map(({ line: [site, ...words] }) => `${site}: ${words.filter(Boolean).join(". ")}`);
  fillList(at("storey-rooms"), lines);
  at("storey").setAttribute("aria-label", `${t("storey.title")}. ${lines.join(" ")}`);
  const kept = () => ({
    name: "heatveil-floor",
    title: t("storey.title"),
    line: `${at("map-title").textContent}, ${moment(then_s ?? Date.now() / 1000)}`,
    tall: tallOf(rooms, 952, 700),
    draw: (pen, wide, tall) => draw(pen, rooms, most, wide, tall),
    scale,
    says: [...lines, t("storey.note"), at("not").textContent],
  });
  at("storey-png").onclick = () => keepPng(kept());
  at("storey-svg").onclick = () => keepSvg(kept());
}

// Where the rooms lie on a picture that is so wide and at most so tall: the ends, and pixels a metre.
function frame(rooms, width, tallest) {
  const ends = [0, 1].map((i) => [Math.min(...rooms.map((one) => one.corner_m[i])), Math.max(...rooms.map((one) => one.corner_m[i] + sides(one)[i]))]);
  const [wide, high] = ends.map(([least, far]) => far - least);
  return { ends, wide, high, scale: Math.min((width - 24) / wide, (tallest - 24) / high) };
}

function tallOf(rooms, width, tallest) {
  const { high, scale } = frame(rooms, width, tallest);
  return Math.ceil(high * scale + 24);
}

function draw(pen, rooms, most, width, height) {
  const { ends: [[left], [top]], wide, scale } = frame(rooms, width, height);
  pen.fillStyle = NIGHT;
  pen.fillRect(0, 0, width, height);
  for (const one of rooms) {
    const x = (width - wide * scale) / 2 + (one.corner_m[0] - left) * scale, y = 12 + (one.corner_m[1] - top) * scale;
    const side = (one.cell_mm / 1000) * scale, paint = one.trusted ? one.drawing.paint : greyed;
    const bare = { ...one, floor: one.floor || { walls: [], doors: [], windows: [], furniture: [] } };
    inRoom(bare, () => drawCells(pen, { ...one.drawing, paint, most }, { place: (i, j) => [x + i * side, y + j * side], side, straight: true }));
    pen.font = "bold 13px system-ui, sans-serif";
    pen.textAlign = "left";
    pen.fillStyle = NIGHT;
    pen.globalAlpha = 0.7;
    pen.fillRect(x + 4, y + 6, pen.measureText(one.site).width + 10, 20);
    pen.globalAlpha = 1;
    pen.fillStyle = "#fff";
    pen.fillText(one.site, x + 9, y + 20);
  }
}
