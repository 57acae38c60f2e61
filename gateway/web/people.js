// A map of people: the share of each cell, and as its other layer how sure that is; and the answers.

import { doubted, drawLine, drawPlane, fresh, heated, placeOf, written } from "./draw.js";
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
// The middle of a cell; without metres in parts of each side, as in a file of points.
const middle = (cell, side) => written(placeOf(cell + 0.5, side));
const where = (cell, plane) => middle(cell.x, 0) + (plane ? ` / ${middle(cell.y, 1)}` : "");

function fullest({ mass, sd }) {
  return mass.flatMap((cells, y) => cells.map((share, x) => ({ x, y, share, sd: sd ? sd[y][x] : null })))
    .filter((cell) => cell.share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, FULLEST);
}

// Draw a layer of a map, "mass" or "sd", on a canvas; return its fullest cells, none without a map.
export function pictureOfPeople(canvas, map, which = "mass") {
  if (map.status !== "solved" || !(map.total > 0)) {
    fresh(canvas);
    canvas.setAttribute("aria-label", "no map");
    return [];
  }
  const unsure = which === "sd" && Boolean(map.sd), cells = unsure ? map.sd : map.mass;
  const found = fullest(map), paint = unsure ? doubted : heated;
  if (cells.length > 1) {
    narrow(canvas, cells[0].length / cells.length, MAP_REM);
    drawPlane(canvas, cells, null, [], paint);
  } else {
    drawLine(canvas, cells[0], null, [], unsure ? "standard deviation " : "of all people ", paint);
  }
  const words = found.slice(0, 3).map((one) => `${percent(one.share)} near ${where(one, map.mass.length > 1)}`);
  canvas.setAttribute("aria-label", unsure ? `how sure: ${sureWords(map)}` : `map of people: ${words.join(", ")}`);
  return found;
}

function sureWords({ mass, sd }) {
  if (!sd) return "";
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
  at("map-note").textContent = solved ? `Round ${number}, drawn in${took} from ${total} answers${number > 1 ? ` of rounds 1 to ${number}` : ""}` : `Round ${number}: no map after${took}`;
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
    where(one, event.mass.length > 1),
    ...(sd ? [`± ${percent(one.sd)}`] : []),
    made("b", percent(one.share)),
    `${Math.round(one.share * people)}`,
  )));
  at("sources-note").textContent = `${sd ? "Give or take is one standard deviation of the share; p" : "P"}eople are counted among those who answered.`;
}

function redraw() {
  for (const name of ["mass", "sd"]) at(`layer-${name}`).setAttribute("aria-pressed", String(name === layer));
  const found = pictureOfPeople(at("map"), shown, layer);
  if (found.length) {
    const cells = layer === "sd" && shown.sd ? shown.sd : shown.mass;
    at("legend").dataset.layer = cells === shown.sd ? "sd" : "mass";
    at("legend-most").textContent = percent(Math.max(...cells.flat()));
    at("legend-what").textContent = cells === shown.sd ? "standard deviation of a cell's share: bright is unsure" : "share of all people in one cell";
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
