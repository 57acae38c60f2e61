// From a map to its likely sources: where each is, how much of the warmth, and how sure that is.

import { metres, placeOf, room, sideOf } from "./draw.js";

// Between which numbers of sources there are, and how likely that is: what is left when the less
// likely end goes as long as this much of the chance remains.
export function between({ numbers, level }) {
  let low = 0, high = numbers.length - 1, chance = numbers.reduce((sum, one) => sum + one, 0);
  while (low < high) {
    const end = numbers[low] < numbers[high] ? low : high;
    if (chance - numbers[end] < level) break;
    chance -= numbers[end];
    if (end === low) low += 1;
    else high -= 1;
  }
  return { low, high, chance };
}

// Cells near each other are one source: the warmest first, each takes what is within reach.
function clusters(rows, most) {
  const near = Math.max(...room.cells.shape) / 14, found = [];
  rows.flatMap((row, y) => row.map((share, x) => ({ share, x, y })))
    .filter((cell) => cell.share > 0.002)
    .sort((a, b) => b.share - a.share)
    .forEach(({ share, x, y }) => {
      let one = found.find((p) => Math.hypot(p.peak.x - x, p.peak.y - y) <= near);
      if (!one) found.push((one = { peak: { x, y }, share: 0, x: 0, y: 0 }));
      one.share += share;
      one.x += share * x;
      one.y += share * y;
    });
  return found.filter((p) => p.share >= 0.05).sort((a, b) => b.share - a.share).slice(0, most)
    .map((p) => ({ share: p.share, x: p.x / p.share, y: p.y / p.share }));
}

// How far round each source one has to go for this much of the chance that is nearest to it.
function reaches(found, present, level) {
  const near = found.map(() => []);
  present.forEach((row, y) => row.forEach((chance, x) => {
    if (!(chance > 0)) return;
    const far = found.map((one) => Math.hypot(one.x - x, one.y - y));
    const least = Math.min(...far);
    near[far.indexOf(least)].push({ chance, far: least });
  }));
  return near.map((cells) => {
    let left = level * cells.reduce((sum, { chance }) => sum + chance, 0);
    if (!(left > 0)) return null;
    cells.sort((a, b) => a.far - b.far);
    return 0.5 + cells.find(({ chance }) => (left -= chance) <= 1e-9).far;
  });
}

// Where a source of warmth stands: without metres at the end of its cell, as the paper counts.
const where = (cell, side) => placeOf(cell + (metres() ? 0.5 : 1), side);

// The likely sources of a map: place, radius (null where nobody knows) and share of the warmth; no
// more of them than there are likely to be.
export function sources(rows, credible) {
  const found = clusters(rows, credible ? between(credible).high : 6);
  const known = credible && found.length;
  const reach = known ? reaches(found, credible.present, credible.level) : found.map(() => null);
  return found.map((cells, i) => ({
    cells, share: cells.share, reach: reach[i],
    x: where(cells.x, 0), y: where(cells.y, 1), radius: reach[i] === null ? null : sideOf(reach[i]),
  }));
}
