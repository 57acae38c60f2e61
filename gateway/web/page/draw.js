// How the page draws: a map along a line or over a plane, with the floor, its sensors and sources.
// All of it is drawn by a pen: a canvas's own, or one that writes SVG.

import { clock, number, percent } from "./words.js";

// Black through violet and orange to pale yellow, even in brightness (matplotlib's inferno).
const HEAT = [[22, 11, 43], [87, 16, 110], [152, 37, 101], [212, 72, 66], [249, 142, 9], [252, 255, 164]];
// Black through teal to near white: how unsure, which must not be taken for how much.
const DOUBT = [[10, 16, 32], [14, 54, 84], [24, 108, 128], [112, 178, 172], [236, 250, 242]];
export const NIGHT = "#160b2b", PALE = "#d9d2ea", SOFT = "#a99fc4", RING = "#7dd3fc", VIOLET = "#57106e";
const EDGE = 18; // pixels left and right of a line

const scaled = (colours) => (share) => {
  const place = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const low = Math.min(Math.floor(place), colours.length - 2);
  const mixed = colours[low].map((c, i) => Math.round(c + (colours[low + 1][i] - c) * (place - low)));
  return `rgb(${mixed.join(",")})`;
};
// Pale to dark red, over a picture of the floor that is light itself.
const EMBER = [[255, 240, 200], [252, 190, 90], [226, 90, 50], [150, 20, 60], [70, 5, 60]];
// What is not to be trusted has no colours at all.
const GREY = [[18, 16, 24], [96, 94, 100], [226, 225, 228]];
export const heated = scaled(HEAT), embered = scaled(EMBER), doubted = scaled(DOUBT), greyed = scaled(GREY);

// What the page was told of the room when it began.
export const room = { cells: null, picture: null };

// Do it as if another room were ours: of that one speak all lengths and places then.
export function inRoom(cells, doing) {
  const own = { ...room };
  Object.assign(room, { cells, picture: null });
  try {
    return doing();
  } finally {
    Object.assign(room, own);
  }
}

// Lengths: metres where the room has a size, else parts of the longer side; places: of each side.
export const metres = () => room.cells.cell_mm > 0;
const cellsOf = (length, axis) => (metres() ? (1000 * length) / room.cells.cell_mm : length * room.cells.shape[axis]);
const reachOf = (length) => (metres() ? cellsOf(length, 0) : length * Math.max(...room.cells.shape));
export const placeOf = (cells, axis) => (metres() ? (cells * room.cells.cell_mm) / 1000 : cells / room.cells.shape[axis]);
// Where a place is drawn, in cells: on a unit grid it is told by a cell's far end.
const drawnAt = (place, axis) => cellsOf(place, axis) - (metres() ? 0 : 0.5);
export const written = (length) => (metres() ? `${number(length, 1)}\u00a0m` : number(length, 2));

// Where each sensor stands, in cells.
export function sensorPlaces() {
  const { sensors: [columns, rows], shape, floor } = room.cells;
  if (floor?.sensors) return floor.sensors.map(([x, y]) => [cellsOf(x, 0), cellsOf(y, 1)]);
  return Array.from({ length: columns * rows }, (_, i) => {
    const off = metres() ? 0.5 : 1, unit = metres() ? 0 : 0.5;
    return [((i % columns) + off) * shape[0] / columns - unit, rows > 1 ? (Math.floor(i / columns) + off) * shape[1] / rows - unit : shape[1] / 2];
  });
}

// --- pens ---

// A canvas's pen in CSS pixels, sharp on any screen.
export function penOf(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  return pen;
}

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const short = (value) => Number(value.toFixed(2));

// A pen with as much of a canvas's as the page uses; what it drew is SVG.
export class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height, fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, textAlign: "left", font: "12px sans-serif" });
    this.parts = [];
    this.path = "";
    this.ruler = document.createElement("canvas").getContext("2d");
  }
  add(tag, given, text = "") {
    const faint = this.globalAlpha < 1 ? { opacity: this.globalAlpha } : {};
    const said = Object.entries({ ...given, ...faint }).map(([key, value]) => `${key}="${escaped(typeof value === "number" ? short(value) : value)}"`);
    this.parts.push(`<${tag} ${said.join(" ")}>${escaped(text)}</${tag}>`);
  }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${short(x)} ${short(y)}`; }
  lineTo(x, y) { this.path += `L${short(x)} ${short(y)}`; }
  closePath() { this.path += "Z"; }
  rect(x, y, w, h) { this.path += `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}Z`; }
  roundRect(x, y, w, h) { this.rect(x, y, w, h); }
  arc(x, y, r, from, to) {
    if (to - from > 6.28) return this.ellipse(x, y, r, r);
    const end = (a) => `${short(x + r * Math.cos(a))} ${short(y + r * Math.sin(a))}`;
    this.path += `M${end(from)}A${short(r)} ${short(r)} 0 0 1 ${end(to)}`;
  }
  ellipse(x, y, rx, ry) {
    const half = `${short(rx)} ${short(ry)} 0 1 1`;
    this.path += `M${short(x - rx)} ${short(y)}A${half} ${short(x + rx)} ${short(y)}A${half} ${short(x - rx)} ${short(y)}Z`;
  }
  fill() { this.add("path", { d: this.path, fill: this.fillStyle }); }
  stroke() { this.add("path", { d: this.path, fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth }); }
  fillRect(x, y, width, height) { this.add("rect", { x, y, width, height, fill: this.fillStyle }); }
  fillText(text, x, y) {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
    const [, weight = "normal", size] = /^(bold)? ?(\d+)px/.exec(this.font) || [];
    this.add("text", { x, y, fill: this.fillStyle, "font-size": `${size || 12}`, "font-family": "system-ui, sans-serif", "font-weight": weight, "text-anchor": anchor }, text);
  }
  measureText(text) { this.ruler.font = this.font; return this.ruler.measureText(text); }
  drawImage(image, x, y, width, height) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    canvas.getContext("2d").drawImage(image, 0, 0);
    this.add("image", { x, y, width, height, preserveAspectRatio: "none", href: canvas.toDataURL() });
  }
  text() { return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">${this.parts.join("")}</svg>`; }
}

// --- a map: { cells, paint, most, faint, present, sources, silent, what } ---

// How tall a map is that is so wide.
export function heightOf(map, width, tallest) {
  if (map.cells.length === 1) return Math.min(Math.max(0.36 * width, 210), 340);
  const { bottom } = frameOf(map.cells, width, tallest);
  return bottom;
}

export function drawMap(pen, map, width, height) {
  pen.fillStyle = NIGHT;
  pen.fillRect(0, 0, width, height);
  if (map.cells.length > 1) drawPlane(pen, map, width, height);
  else drawLine(pen, map, width, height);
}

function ticks(longest, most = 8) {
  const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].find((s) => longest / s <= most) || longest / 5;
  return Array.from({ length: Math.floor(longest / step + 1e-9) + 1 }, (_, i) => i * step);
}
const tickText = (tick) => number(tick, Number.isInteger(Number(tick.toFixed(6))) ? 0 : tick % 0.1 > 1e-6 && tick % 0.1 < 0.0999 ? 2 : 1);

const across = (width, part) => EDGE + part * (width - 2 * EDGE);

function drawLine(pen, { cells: [mass], paint, most, present, sources, silent, faint, headline }, width, height) {
  const strip = 30, foot = 36, base = height - strip - foot, tall = base - 36;
  const cell = (width - 2 * EDGE) / mass.length;
  pen.fillStyle = PALE;
  pen.fillText(headline && `${percent(most)} ${headline}`, EDGE, 20);
  pen.fillStyle = "#3a2a5c";
  pen.fillRect(EDGE, 28, width - 2 * EDGE, 1);
  if (present) {
    // Behind the bars, as soft hills: the chance of each cell that a source stands in it.
    const top = Math.max(...present[0]) || 1;
    pen.fillStyle = VIOLET;
    pen.beginPath();
    pen.moveTo(across(width, 0), base - 6);
    present[0].forEach((chance, i) => {
      for (const edge of [i, i + 1]) pen.lineTo(across(width, edge / mass.length), base - 6 - (chance / top) * 0.6 * tall);
    });
    pen.lineTo(across(width, 1), base - 6);
    pen.fill();
  }
  mass.forEach((share, i) => {
    const x = across(width, i / mass.length), up = (share / most) * tall;
    pen.globalAlpha = faint?.[0][i] ? 0.5 : 1;
    pen.fillStyle = paint(share / most);
    pen.fillRect(x, base, cell + 0.5, strip);
    // A low bar is no hole in the hills.
    if (present) pen.fillStyle = paint(Math.max(share / most, 0.4));
    if (up > 0.5) pen.fillRect(x, base - 6 - Math.min(up, tall), Math.max(cell - 1, 1.5), Math.min(up, tall));
  });
  pen.globalAlpha = 1;
  if (faint) hatch(pen, faint, (x, y) => [across(width, x / mass.length), base + y * strip]);
  pen.strokeStyle = RING;
  pen.lineWidth = 2;
  for (const { x, within } of sources) {
    if (within === null) continue;
    const middle = drawnAt(x, 0), reach = reachOf(within);
    const from = across(width, Math.max((middle - reach) / mass.length, 0)), to = across(width, Math.min((middle + reach) / mass.length, 1));
    pen.beginPath();
    pen.roundRect(from, base - 3, to - from, strip + 6, 8);
    pen.stroke();
  }
  drawSensors(pen, (x) => [across(width, x / mass.length), base + strip + 7], silent, 2.2);
  const longest = placeOf(room.cells.shape[0], 0);
  pen.fillStyle = SOFT;
  pen.textAlign = "center";
  for (const tick of ticks(longest, width < 420 ? 5 : 10)) {
    const x = across(width, tick / longest);
    pen.fillRect(x, height - foot + 12, 1, 4);
    pen.fillText(tickText(tick) + (metres() ? " m" : ""), Math.min(Math.max(x, 14), width - 20), height - 6);
  }
  pen.textAlign = "left";
}

// How a plane lies on its canvas, north up where it is known: from cells to pixels and back.
function frameOf(rows, width, tallest = Infinity) {
  const across = rows[0].length, down = rows.length, earth = room.cells?.earth;
  const turn = earth ? ((earth.bearing - 90) * Math.PI) / 180 : 0;
  const cos = Math.cos(turn), sin = Math.sin(turn);
  const straight = Math.abs(sin) < 0.02 && cos > 0;
  const left = straight ? 40 : 10, foot = straight ? 24 : 34, top = 10, right = 12;
  const wide = across * Math.abs(cos) + down * Math.abs(sin), high = across * Math.abs(sin) + down * Math.abs(cos);
  const side = Math.min((width - left - right) / wide, (tallest - top - foot) / high);
  const x0 = left + (width - left - right) / 2, y0 = top + (high * side) / 2;
  const place = (x, y) => {
    const u = (x - across / 2) * side, v = (y - down / 2) * side;
    return [x0 + u * cos - v * sin, y0 + u * sin + v * cos];
  };
  const cellAt = (px, py) => {
    const u = (px - x0) / side, v = (py - y0) / side;
    return [across / 2 + u * cos + v * sin, down / 2 - u * sin + v * cos];
  };
  return { place, cellAt, side, straight, bottom: Math.ceil(top + high * side + foot), across, down };
}

// From a step on the screen to one in cells, where a plane lies turned.
export function turned([right, down]) {
  const earth = room.cells?.earth, turn = earth ? ((earth.bearing - 90) * Math.PI) / 180 : 0;
  return [right * Math.cos(turn) + down * Math.sin(turn), down * Math.cos(turn) - right * Math.sin(turn)].map(Math.round);
}

// Where a cell of the map lies under a point of its canvas.
export function cellUnder(map, width, height, x, y) {
  if (map.cells.length === 1) return [(x - EDGE) / (width - 2 * EDGE) * map.cells[0].length, 0.5];
  return frameOf(map.cells, width, height).cellAt(x, y);
}

function outline(pen, corners) {
  pen.beginPath();
  corners.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.closePath();
}

function drawPlane(pen, map, width, height) {
  const frame = frameOf(map.cells, width, height), picture = frame.straight && room.picture;
  if (picture) pen.drawImage(picture, ...frame.place(0, 0), frame.across * frame.side, frame.down * frame.side);
  drawCells(pen, map, frame, picture);
  if (frame.straight) axes(pen, frame, width);
  else compass(pen, frame, width);
}

// The cells of a plane with what stands in it, where `place` says.
export function drawCells(pen, { cells: rows, paint, most, sources, silent, faint }, { place, side, straight }, picture = null) {
  rows.forEach((row, y) => row.forEach((share, x) => {
    pen.fillStyle = paint(share / most);
    if (picture) pen.globalAlpha = 0.06 + 0.8 * Math.sqrt(Math.min(share / most, 1));
    else if (faint?.[y][x]) pen.globalAlpha = 0.5;
    else pen.globalAlpha = 1;
    const [px, py] = place(x, y);
    if (straight) { // on whole pixels, so that no seam is seen
      const [left, up, right, low] = [px, py, px + side, py + side].map(Math.round);
      pen.fillRect(left, up, right - left, low - up);
    } else {
      outline(pen, [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1]].map(([a, b]) => place(a, b)));
      pen.fill();
      pen.strokeStyle = pen.fillStyle;
      pen.lineWidth = 0.8;
      pen.stroke();
    }
  }));
  pen.globalAlpha = 1;
  if (faint) hatch(pen, faint, place);
  if (room.cells.floor) drawFloor(pen, room.cells.floor, place, side, picture ? NIGHT : PALE);
  if (silent !== null) drawSensors(pen, place, silent, 3);
  drawRings(pen, sources, place, side);
}

// Thin strokes over the cells that say no more than noise would: a map without any people has such.
function hatch(pen, rows, place) {
  pen.beginPath();
  rows.forEach((row, y) => row.forEach((faint, x) => {
    if (!faint) return;
    pen.moveTo(...place(x, y + 1));
    pen.lineTo(...place(x + 1, y));
  }));
  pen.strokeStyle = "#8f84ad";
  pen.globalAlpha = 0.55;
  pen.lineWidth = 1;
  pen.stroke();
  pen.globalAlpha = 1;
}

// The room's own lines: walls, windows, doors with the way their leaf goes, furniture, heaters.
function drawFloor(pen, floor, place, side, ink = PALE) {
  const to = ([x, y]) => place(cellsOf(x, 0), cellsOf(y, 1)), px = (length) => cellsOf(length, 0) * side;
  const box = ([left, top, right, bottom]) => [[left, top], [right, top], [right, bottom], [left, bottom]].map(to);
  pen.lineWidth = 1.2;
  for (const { rect, warm } of floor.furniture) {
    outline(pen, box(rect));
    pen.globalAlpha = 0.16;
    pen.fillStyle = warm ? "#f98e09" : ink;
    pen.fill();
    pen.globalAlpha = 0.8;
    pen.strokeStyle = warm ? "#f98e09" : ink;
    pen.stroke();
    pen.globalAlpha = 1;
  }
  pen.fillStyle = ink;
  for (const { rect } of floor.walls) {
    outline(pen, box(rect));
    pen.fill();
  }
  for (const { rect, upright } of floor.doors) {
    const [left, top, right, bottom] = rect, [a, b] = to([(left + right) / 2, (top + bottom) / 2]);
    const wide = px(upright ? bottom - top : right - left);
    pen.strokeStyle = ink === PALE ? NIGHT : PALE; // the opening itself
    pen.lineWidth = Math.max(px(upright ? right - left : bottom - top), 2) + 1;
    pen.beginPath();
    pen.moveTo(a - (upright ? 0 : wide / 2), b - (upright ? wide / 2 : 0));
    pen.lineTo(a + (upright ? 0 : wide / 2), b + (upright ? wide / 2 : 0));
    pen.stroke();
    pen.strokeStyle = ink;
    pen.lineWidth = 1.2;
    pen.beginPath();
    const hinge = upright ? [a, b + wide / 2] : [a - wide / 2, b];
    pen.arc(...hinge, wide, -Math.PI / 2, 0);
    pen.moveTo(...hinge);
    pen.lineTo(hinge[0] + (upright ? wide : 0), hinge[1] - (upright ? 0 : wide));
    pen.globalAlpha = 0.7;
    pen.stroke();
    pen.globalAlpha = 1;
  }
  pen.strokeStyle = ink;
  pen.lineWidth = 3;
  outline(pen, box([0, 0, ...room.cells.shape.map(placeOf)]));
  pen.stroke();
  pen.strokeStyle = RING;
  for (const { from, to: end } of floor.windows) {
    pen.beginPath();
    pen.moveTo(...to(from));
    pen.lineTo(...to(end));
    pen.stroke();
  }
}

// A dot a sensor where it stands; hollow and grey where it did not answer.
function drawSensors(pen, place, silent, radius) {
  if (silent === null) return;
  sensorPlaces().forEach(([x, y], i) => {
    const [px, py] = place(x, y), missing = silent?.has(i);
    pen.beginPath();
    pen.arc(px, py, radius, 0, 2 * Math.PI);
    pen.lineWidth = 1.5;
    pen.strokeStyle = missing ? "#8f84ad" : NIGHT;
    pen.fillStyle = missing ? NIGHT : "#fff";
    pen.fill();
    pen.stroke();
  });
}

// Within a ring is a source as often as the map's level says; a cross is its likeliest place.
function drawRings(pen, sources, place, side) {
  for (const one of sources) {
    const [x, y] = place(drawnAt(one.x, 0), drawnAt(one.y ?? 0, 1));
    pen.beginPath();
    if (one.within !== null) pen.ellipse(x, y, reachOf(one.within) * side, reachOf(one.within) * side, 0, 0, 2 * Math.PI);
    pen.moveTo(x - 5, y);
    pen.lineTo(x + 5, y);
    pen.moveTo(x, y - 5);
    pen.lineTo(x, y + 5);
    for (const [style, thick] of [[NIGHT, 5], [RING, 2]]) { // seen on the brightest cell, too
      pen.strokeStyle = style;
      pen.lineWidth = thick;
      pen.stroke();
    }
  }
}

// Below and left of a plane, in metres where it has a size.
function axes(pen, { place, side, across, down }, width) {
  const unit = metres() ? " m" : "";
  pen.fillStyle = SOFT;
  for (const upward of [false, true]) {
    const cells = upward ? down : across, longest = placeOf(cells, upward ? 1 : 0), pixels = cells * side;
    for (const tick of ticks(longest, Math.min(Math.max(Math.floor(pixels / 55), 2), 10))) {
      const along = cellsOf(tick, upward ? 1 : 0), [x, y] = upward ? place(0, along) : place(along, down);
      pen.textAlign = upward ? "right" : "center";
      pen.fillRect(upward ? x - 5 : x, upward ? y : y + 1, upward ? 4 : 1, upward ? 1 : 4);
      const end = upward ? x - 7 : Math.min(x, width - 20);
      pen.fillText(tickText(tick) + (tick && !upward ? unit : upward && !tick ? unit : ""), end, upward ? y + (tick ? 4 : 10) : y + 18);
    }
  }
  if (room.cells.earth) north(pen, ...place(across, 0).map((v, i) => v + (i ? 22 : -16)));
  pen.textAlign = "left";
}

function north(pen, x, y) {
  pen.fillStyle = PALE;
  pen.strokeStyle = NIGHT;
  pen.lineWidth = 2;
  outline(pen, [[x, y - 14], [x + 6, y + 4], [x, y], [x - 6, y + 4]]);
  pen.stroke();
  pen.fill();
  pen.textAlign = "center";
  pen.font = "bold 11px system-ui, sans-serif";
  pen.fillText("N", x, y + 16);
  pen.font = "12px system-ui, sans-serif";
}

// Where a plane lies askew: which way is north, and how long a length is.
function compass(pen, { side, bottom }, width) {
  const fits = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].filter((m) => cellsOf(m, 0) * side <= width / 4);
  const length = fits[fits.length - 1] || placeOf(1, 0), pixels = cellsOf(length, 0) * side;
  pen.fillStyle = PALE;
  pen.fillRect(14, bottom - 14, pixels, 2);
  for (const x of [14, 14 + pixels]) pen.fillRect(x - 1, bottom - 18, 2, 8);
  pen.textAlign = "left";
  pen.fillText(metres() ? `${number(length)} m` : written(length), 22 + pixels, bottom - 9);
  north(pen, width - 22, 24);
  pen.textAlign = "left";
}

// Where a point of the map lies on the earth, to a good metre over a few kilometres.
export function onEarth([x, y]) {
  const { corner: [latitude, longitude], bearing } = room.cells.earth;
  const turn = (bearing * Math.PI) / 180, [along, down] = [placeOf(x, 0), placeOf(y, 1)];
  const north_m = along * Math.cos(turn) - down * Math.sin(turn), east_m = along * Math.sin(turn) + down * Math.cos(turn);
  const wide = Math.cos((latitude * Math.PI) / 180);
  return { lat: latitude + north_m / 111_200, lon: longitude + east_m / (111_320 * wide) };
}

// --- other pictures ---

// What the sensors sent, blurred: along the room, or where they stand on its floor.
export function drawReadings(pen, values, width, height, wordOf) {
  const known = values.filter((v) => v !== null), low = Math.min(...known, 0), high = Math.max(...known, 0);
  pen.fillStyle = NIGHT;
  pen.fillRect(0, 0, width, height);
  const places = sensorPlaces(), plane = room.cells.shape[1] > 1;
  if (plane) {
    const rows = Array.from({ length: room.cells.shape[1] }, () => Array(room.cells.shape[0]).fill(0));
    const frame = frameOf(rows, width, height);
    if (room.cells.floor) drawFloor(pen, room.cells.floor, frame.place, frame.side);
    values.forEach((value, i) => {
      if (!places[i]) return;
      pen.beginPath();
      pen.arc(...frame.place(...places[i]), value === null ? 4 : 7, 0, 2 * Math.PI);
      pen.fillStyle = value === null ? NIGHT : heated(0.15 + 0.85 * (value - low) / (high - low || 1));
      pen.strokeStyle = value === null ? "#8f84ad" : PALE;
      pen.lineWidth = 1;
      pen.fill();
      pen.stroke();
    });
    axes(pen, frame, width);
    return;
  }
  const top = 30, foot = 24, y = (v) => top + (1 - (v - low) / (high - low || 1)) * (height - foot - top - 14);
  pen.fillStyle = "#3a2a5c";
  pen.fillRect(EDGE, y(0), width - 2 * EDGE, 1);
  pen.fillStyle = SOFT;
  pen.fillText(wordOf(high), EDGE, 16);
  pen.fillStyle = "#f98e09";
  values.forEach((value, i) => {
    if (value === null) return;
    pen.beginPath();
    pen.arc(across(width, places[i][0] / room.cells.shape[0]), y(value), 3, 0, 2 * Math.PI);
    pen.fill();
  });
}

// The answers of a round over the outer cells, with a frame round those that people can be in.
export function drawAnswers(pen, { values, outer: [columns, rows], reach: [right, down] }, width, height) {
  const wide = width / columns, tall = height / rows, most = values.reduce((a, b) => Math.max(a, b), 1);
  values.forEach((count, i) => {
    pen.fillStyle = heated(count / most);
    pen.fillRect((i % columns) * wide, Math.floor(i / columns) * tall, wide + 0.5, tall + 0.5);
  });
  pen.strokeStyle = RING;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.rect(right * wide, down * tall, width - 2 * right * wide, height - 2 * down * tall);
  pen.stroke();
}

// The rounds of a day, or of the minutes of a rehearsal, a bar each: [{ at_s, part, solved }].
export function drawStrip(pen, rounds, from_s, to_s, width, height, ink) {
  const x = (at_s) => 8 + ((at_s - from_s) / (to_s - from_s)) * (width - 16);
  pen.fillStyle = ink.soft;
  pen.textAlign = "center";
  const hours = Math.round((to_s - from_s) / 3600), step = width < 480 ? 6 : 3;
  const marks = hours ? Array.from({ length: Math.floor(hours / step) + 1 }, (_, i) => [from_s + 3600 * step * i, `${step * i}:00`]) : [from_s, to_s].map((one) => [one, clock(one, { second: "2-digit" })]);
  for (const [at_s, text] of marks) {
    const left = x(at_s), half = pen.measureText(text).width / 2 + 2;
    pen.fillRect(left, height - 20, 1, 4);
    pen.fillText(text, Math.min(Math.max(left, half), width - half), height - 4);
  }
  pen.fillStyle = ink.line;
  pen.fillRect(8, height - 21, width - 16, 1);
  const apart = rounds.slice(1).map(({ at_s }, i) => x(at_s) - x(rounds[i].at_s));
  const wide = Math.min(Math.max(0.6 * Math.min(...apart, 13), 1.5), 8);
  for (const { at_s, part, solved } of rounds) {
    const tall = Math.max(part, 0.08) * (height - 28);
    pen.fillStyle = solved ? ink.accent : ink.soft;
    pen.fillRect(x(at_s) - wide / 2, height - 21 - tall, wide, tall);
  }
  pen.textAlign = "left";
}

// By how far apart two places are, how often the best guess is right: [[distance, chance]].
export function drawCurve(pen, points, width, height, ink, words) {
  const left = 44, foot = 26, top = 10, most = points[points.length - 1][0], least = points[0][0];
  const x = (d) => left + (Math.log(d / least) / (Math.log(most / least) || 1)) * (width - left - 46);
  const y = (p) => top + (1 - (p - 0.5) / 0.5) * (height - foot - top);
  pen.fillStyle = ink.soft;
  pen.textAlign = "right";
  for (const p of [0.5, 0.75, 1]) {
    pen.fillText(percent(p), left - 6, y(p) + 4);
    pen.fillStyle = ink.line;
    pen.fillRect(left, y(p), width - left - 8, 1);
    pen.fillStyle = ink.soft;
  }
  pen.textAlign = "center";
  let last = -99;
  for (const [d] of points) {
    if (x(d) - last < 44) continue;
    last = x(d);
    pen.fillText(written(d), x(d), height - 6);
  }
  pen.textAlign = "left";
  pen.fillText(words, left + 6, y(0.5) - 5);
  pen.strokeStyle = ink.accent;
  pen.fillStyle = ink.accent;
  pen.lineWidth = 2;
  pen.beginPath();
  points.forEach(([d, p], i) => (i ? pen.lineTo(x(d), y(p)) : pen.moveTo(x(d), y(p))));
  pen.stroke();
  for (const [d, p] of points) {
    pen.beginPath();
    pen.arc(x(d), y(p), 3, 0, 2 * Math.PI);
    pen.fill();
  }
}

// A colour scale, from nothing to the most.
export function drawScale(pen, paint, most, x, y, width) {
  for (let i = 0; i < width; i += 2) {
    pen.fillStyle = paint(i / width);
    pen.fillRect(x + i, y, 2.5, 10);
  }
}
