// How the page draws: a map along a line or over a plane, and the dots of the wire.

// Black through violet and orange to pale yellow, even in brightness (matplotlib's inferno).
const HEAT = [[22, 11, 43], [87, 16, 110], [152, 37, 101], [212, 72, 66], [249, 142, 9], [252, 255, 164]];

// Black through teal to near white: how unsure, which must not be taken for how much.
const DOUBT = [[10, 16, 32], [14, 54, 84], [24, 108, 128], [112, 178, 172], [236, 250, 242]];

const scaled = (colours) => (share) => {
  const place = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const low = Math.min(Math.floor(place), colours.length - 2);
  const mixed = colours[low].map((c, i) => Math.round(c + (colours[low + 1][i] - c) * (place - low)));
  return `rgb(${mixed.join(",")})`;
};
export const heated = scaled(HEAT), doubted = scaled(DOUBT);

// Return a drawing context in CSS pixels, sharp on any screen.
export function fresh(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  return { pen, width, height };
}

// What the page was told of the room when it began.
export const room = { cells: null };

// Lengths: metres where the room has a size, else parts of the longer side; places: of each side.
export const metres = () => room.cells.cell_mm > 0;
export const sideOf = (cells) => (metres() ? (cells * room.cells.cell_mm) / 1000 : cells / Math.max(...room.cells.shape));
export const placeOf = (cells, side) => (metres() ? sideOf(cells) : cells / room.cells.shape[side]);
export const written = (length) => (metres() ? `${length.toFixed(1)} m` : length.toFixed(2));

function ticks(longest) {
  const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50].find((s) => longest / s <= 8) || longest / 5;
  return Array.from({ length: Math.floor(longest / step + 1e-9) + 1 }, (_, i) => i * step);
}

export const EDGE = 18; // pixels left and right of a line
export const across = (width, part) => EDGE + part * (width - 2 * EDGE);

export function axis(pen, width, y) {
  const longest = sideOf(room.cells.shape[0]);
  pen.fillStyle = "#bdb3d6";
  pen.textAlign = "center";
  for (const tick of ticks(longest)) {
    const x = across(width, tick / longest);
    pen.fillRect(x, y, 1, 4);
    pen.fillText(Number(tick.toFixed(2)) + (metres() ? " m" : ""), x, y + 16);
  }
}

// Behind the bars, as soft hills: the chance of each cell that somebody stands in it.
function hills(pen, present, width, base, tall) {
  const most = Math.max(...present) || 1;
  pen.fillStyle = "#57106e";
  pen.beginPath();
  pen.moveTo(across(width, 0), base);
  present.forEach((chance, i) => {
    for (const edge of [i, i + 1]) pen.lineTo(across(width, edge / present.length), base - (chance / most) * tall);
  });
  pen.lineTo(across(width, 1), base);
  pen.fill();
}

const RING = "#7dd3fc";

export function drawLine(canvas, mass, present, found, what = "of the warmth ", paint = heated) {
  const { pen, width, height } = fresh(canvas);
  const most = Math.max(...mass);
  const strip = 30, foot = 24, base = height - strip - foot;
  const cell = (width - 2 * EDGE) / mass.length;
  pen.fillStyle = "#bdb3d6";
  // On a phone there is no room for more words beside the other ones.
  pen.fillText(`${(100 * most).toFixed(most < 0.1 ? 1 : 0)} % ${width < 420 ? "" : what}in one cell`, EDGE, 20);
  pen.fillStyle = "#3a2a5c";
  pen.fillRect(EDGE, 28, width - 2 * EDGE, 1);
  if (present) {
    pen.fillStyle = "#b58ad0";
    pen.textAlign = "right";
    pen.fillText("violet: where it may be", width - EDGE, 20);
    pen.textAlign = "left";
    hills(pen, present, width, base - 6, 0.6 * (base - 40));
  }
  mass.forEach((share, i) => {
    const x = across(width, i / mass.length), tall = (share / most) * (base - 34);
    pen.fillStyle = paint(share / most);
    pen.fillRect(x, base, cell + 0.5, strip);
    // A low bar is no hole in the hills.
    if (present) pen.fillStyle = heated(Math.max(share / most, 0.4));
    if (tall > 0.5) pen.fillRect(x, base - 6 - tall, Math.max(cell - 1, 1.5), tall);
  });
  pen.strokeStyle = RING;
  pen.lineWidth = 2;
  for (const { cells, reach } of found) {
    if (reach === null) continue;
    const from = across(width, Math.max((cells.x + 0.5 - reach) / mass.length, 0));
    const to = across(width, Math.min((cells.x + 0.5 + reach) / mass.length, 1));
    pen.beginPath();
    pen.roundRect(from, base - 3, to - from, strip + 6, 8);
    pen.stroke();
  }
  axis(pen, width, height - foot + 2);
}

// The chance of each cell where it is known, a ring where each source is, a cross where the map
// has it; else the map.
export function drawPlane(canvas, mass, present, found, paint = heated) {
  const rows = present || mass;
  canvas.dataset.plane = "";
  canvas.style.aspectRatio = `${rows[0].length} / ${rows.length}`;
  const { pen, width, height } = fresh(canvas);
  const most = Math.max(...rows.flat()) || 1;
  const wide = width / rows[0].length, tall = height / rows.length;
  rows.forEach((row, y) => row.forEach((share, x) => {
    pen.fillStyle = paint(share / most);
    pen.fillRect(x * wide, y * tall, wide + 0.5, tall + 0.5);
  }));
  scale(pen, width, height, wide, tall);
  if (!present) return;
  for (const { cells, reach } of found) {
    const x = (cells.x + 0.5) * wide, y = (cells.y + 0.5) * tall;
    pen.beginPath();
    if (reach !== null) pen.ellipse(x, y, reach * wide, reach * tall, 0, 0, 2 * Math.PI);
    pen.moveTo(x - 5, y);
    pen.lineTo(x + 5, y);
    pen.moveTo(x, y - 5);
    pen.lineTo(x, y + 5);
    // Seen on the brightest cell, too.
    for (const [style, thick] of [["#160b2b", 5], [RING, 2]]) {
      pen.strokeStyle = style;
      pen.lineWidth = thick;
      pen.stroke();
    }
  }
}

// Along the upper and the left edge of a plane, as the table of sources counts.
function scale(pen, width, height, wide, tall) {
  const words = (tick) => Number(tick.toFixed(2)) + (metres() ? " m" : "");
  pen.fillStyle = "#d9d2ea";
  pen.shadowColor = "#160b2b";
  pen.shadowBlur = 4; // readable on a bright cell
  for (const down of [false, true]) {
    const end = down ? height : width, longest = placeOf(end / (down ? tall : wide), down ? 1 : 0);
    pen.textAlign = down ? "left" : "center";
    for (const tick of ticks(longest).slice(1)) {
      const at = (tick / longest) * end;
      if (at > end - 16) continue; // there is no room for it
      pen.fillRect(down ? 0 : at, down ? at : 0, down ? 4 : 1, down ? 1 : 4);
      pen.fillText(words(tick), down ? 8 : at, down ? at + 4 : 16);
    }
  }
  pen.shadowBlur = 0;
  pen.textAlign = "left";
}
