// A map of people: the share of each cell, and as its other layer how sure that is; and the answers.

import { across, doubted, drawLine, drawPlane, fresh, heated, placeOf, written } from "./draw.js";
import { at, made, row } from "./words.js";

const FULLEST = 6;
let layer = "mass", shown = null;

// A square of cells as wide as a desk would hide all that stands below it.
const MAP_REM = 34, WIRE_REM = 20;
function narrow(canvas, ratio, tallest) {
  if (canvas.id === "past") return; // it is low by itself
  canvas.style.maxWidth = `${(ratio * tallest).toFixed(1)}rem`;
  canvas.style.margin = "0 auto";
}

const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 2 : 1)} %`;
const where = (cell, plane) => written(placeOf(cell.x)) + (plane ? ` / ${written(placeOf(cell.y))}` : "");

function fullest({ mass, sd }) {
  return mass.flatMap((cells, y) => cells.map((share, x) => ({ x, y, share, sd: sd ? sd[y][x] : null })))
    .filter((cell) => cell.share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, FULLEST);
}

// What the answers tell apart, densest first: where somebody is for sure, and nothing finer.
const SOLID = 2, HATCHED = 1;
const block = ([y, x, rows, columns, share, low, high, look]) => ({ y, x, rows, columns, share, low, high, look });
const claims = ({ blocks }) => blocks.rows.map(block)
  .filter((one) => one.look === SOLID)
  .sort((a, b) => b.share / (b.rows * b.columns) - a.share / (a.rows * a.columns));
const middle = ({ x, y, rows, columns }, plane) => where({ x: x + (columns - 1) / 2, y: y + (rows - 1) / 2 }, plane);
const wideness = ({ rows, columns }) => (rows * columns > 1 ? ` (${columns} by ${rows} cells)` : "");

// The share of each cell were those of its block alike; none where there are few.
function drawnOf({ blocks, mass }) {
  const cells = mass.map((row) => row.map(() => 0));
  for (const { y, x, rows, columns, share, look } of blocks.rows.map(block)) {
    if (!look) continue;
    for (let v = y; v < y + rows; v++) cells[v].fill(share / (rows * columns), x, x + columns);
  }
  return cells;
}

// Lines over what is mostly noise.
function hatch(canvas, { blocks, mass }) {
  const pen = canvas.getContext("2d"), { width, height } = canvas.getBoundingClientRect();
  const line = mass.length === 1, count = mass[0].length;
  const left = (cell) => (line ? across(width, cell / count) : (cell / count) * width);
  const top = (cell) => (line ? 28 + cell * (height - 52) : (cell / mass.length) * height);
  pen.strokeStyle = "#bdb3d6";
  pen.lineWidth = 1;
  for (const { y, x, rows, columns } of blocks.rows.map(block).filter((one) => one.look === HATCHED)) {
    const [from, to, high, low] = [left(x), left(x + columns), top(y), top(y + rows)];
    pen.save();
    pen.beginPath();
    pen.rect(from, high, to - from, low - high);
    pen.clip();
    pen.beginPath();
    for (let at = from - (low - high); at < to; at += 7) {
      pen.moveTo(at, low);
      pen.lineTo(at + low - high, high);
    }
    pen.stroke();
    pen.restore();
  }
}

// Draw a layer of a map, "mass" or "sd", on a canvas; return its fullest cells, none without a map.
export function pictureOfPeople(canvas, map, which = "mass") {
  if (map.status !== "solved" || !(map.total > 0)) {
    fresh(canvas);
    canvas.setAttribute("aria-label", "no map");
    return [];
  }
  const unsure = which === "sd" && Boolean(map.sd);
  const cells = unsure ? map.sd : map.blocks ? drawnOf(map) : map.mass;
  const found = map.blocks ? claims(map).slice(0, FULLEST) : fullest(map), paint = unsure ? doubted : heated;
  if (cells.length > 1) {
    narrow(canvas, cells[0].length / cells.length, MAP_REM);
    drawPlane(canvas, cells, null, [], paint);
  } else {
    drawLine(canvas, cells[0], null, [], unsure ? "standard deviation " : "of all people ", paint);
  }
  if (map.blocks && !unsure) hatch(canvas, map);
  const plane = map.mass.length > 1;
  const words = found.slice(0, 3).map((one) => `${percent(one.share)} near ${map.blocks ? middle(one, plane) + wideness(one) : where(one, plane)}`);
  canvas.setAttribute("aria-label", unsure ? `how sure: ${sureWords(map)}` : `map of people: ${words.join(", ")}`);
  return found;
}

function sureWords({ mass, sd, blocks }) {
  if (!sd) return "";
  if (blocks) {
    const [top] = claims({ blocks });
    if (!top || blocks.rows.length === 1) return "The answers tell no place from another.";
    return `Between ${percent(top.low)} and ${percent(top.high)} of all are near ${middle(top, mass.length > 1)}${wideness(top)}${top.rows * top.columns > 1 ? "; finer is not resolved" : ""}. What is hatched is mostly noise; where it is blank are few.`;
  }
  const all = sd.flat(), [top] = fullest({ mass, sd });
  const mean = Math.sqrt(all.reduce((sum, one) => sum + one * one, 0) / all.length);
  return `The fullest cell holds ${percent(top.share)} of all, give or take ${percent(top.sd)}; a cell is off by ${percent(mean)} in the mean (one standard deviation). Were all cells alike, each would hold ${percent(1 / all.length)}.`;
}

export function showPeople(event) {
  const { number, status, why, seconds, total, sd } = event;
  const people = event.sensors_used ?? total; // total counts each of them once a round
  const solved = status === "solved" && total > 0;
  shown = event;
  at("layers").hidden = !(solved && sd);
  at("legend").hidden = !solved;
  at("empty").hidden = solved;
  const took = seconds === null ? "" : ` ${seconds.toFixed(2)} s`;
  at("map-note").textContent = solved ? `Round ${number}, drawn in${took} from ${total} answers` : `Round ${number}: no map after${took}`;
  at("sure").textContent = solved ? sureWords(event) : "";
  at("sources").hidden = !solved;
  at("places").replaceChildren();
  const found = redraw();
  if (!solved) {
    at("empty").textContent = `Round ${number}: ${why}.`;
    at("sources-note").textContent = "This round tells of none.";
    return;
  }
  at("map").dataset.number = number;
  if (why !== "optimal") at("map-note").textContent += `. ${why}`;
  at("within").hidden = !sd; // a map that does not know how sure it is has no column for it
  at("places").append(...found.map((one) => row(
    event.blocks ? middle(one, event.mass.length > 1) + wideness(one) : where(one, event.mass.length > 1),
    ...(event.blocks ? [`${percent(one.low)} to ${percent(one.high)}`] : sd ? [`± ${percent(one.sd)}`] : []),
    made("b", percent(one.share)),
    `${Math.round(one.share * people)}`,
  )));
  const give = event.blocks ? `The share is between these in ${percent(event.blocks.level)} of maps; p` : sd ? "Give or take is one standard deviation of the share; p" : "P";
  at("sources-note").textContent = `${give}eople are counted among those who answered.`;
}

function redraw() {
  for (const name of ["mass", "sd"]) at(`layer-${name}`).setAttribute("aria-pressed", String(name === layer));
  const found = pictureOfPeople(at("map"), shown, layer);
  if (found.length) {
    const cells = layer === "sd" && shown.sd ? shown.sd : shown.blocks ? drawnOf(shown) : shown.mass;
    at("legend").dataset.layer = cells === shown.sd ? "sd" : "mass";
    at("legend-most").textContent = percent(Math.max(...cells.flat()));
    at("legend-what").textContent = cells === shown.sd ? "standard deviation of a cell's share: bright is unsure" : shown.blocks ? "share of all people in one cell, alike within what is not told apart" : "share of all people in one cell";
  }
  return found;
}

// The answers of a round, over the outer cells, with a frame round those that people can be in.
export function showAnswers({ values, outer, reach, reports }) {
  const canvas = at("wire"), [columns, rows] = outer, [right, down] = reach;
  canvas.hidden = false;
  if (rows > 1) {
    canvas.dataset.plane = "";
    canvas.style.aspectRatio = `${columns} / ${rows}`;
    narrow(canvas, columns / rows, WIRE_REM);
  }
  const { pen, width, height } = fresh(canvas), wide = width / columns, tall = height / rows;
  const most = values.reduce((a, b) => Math.max(a, b), 1);
  values.forEach((count, i) => {
    pen.fillStyle = heated(count / most);
    pen.fillRect((i % columns) * wide, Math.floor(i / columns) * tall, wide + 0.5, tall + 0.5);
  });
  pen.strokeStyle = "#7dd3fc";
  pen.lineWidth = 2;
  pen.strokeRect(right * wide, down * tall, width - 2 * right * wide, height - 2 * down * tall);
  canvas.setAttribute("aria-label", `${reports} answers over ${columns} by ${rows} cells, at most ${most} in one`);
}

for (const name of ["mass", "sd"]) {
  at(`layer-${name}`).addEventListener("click", () => {
    layer = name;
    if (shown) redraw();
  });
}
