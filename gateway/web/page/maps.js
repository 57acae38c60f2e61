// A map as it is shown: its layers, its words, its table of places; and as a picture that is kept.

import { SvgPen, cellUnder, doubted, drawAnswers, drawMap, drawReadings, drawScale, embered, greyed, heated, heightOf, metres, onEarth, penOf, placeOf, room, sensorPlaces, written } from "./draw.js";
import { at, counted, exactly, language, make, makeRow, moment, number, own, percent, say, t, told } from "./words.js";

const FULLEST = 6;

// In whose words the page speaks: those of the mechanism that is served.
export const kind = { people: false, who: "device", all: "", within: "", unit: "" };

export function speakFor({ reads, words, strength_unit: unit = "" }) {
  Object.assign(kind, { people: reads === "place", who: words.who, all: own(words.of_all), within: own(words.page.within || ["", ""]), unit });
  for (const [id, text] of Object.entries(words.page)) if (at(id)) say(id, own(text));
}

export const solved = (map) => Boolean(map) && map.status === "solved" && map.total > 0;

// Whether what the deployment file says is wrong, and the map with it.
export const isDoubtful = (map) => ["assumptions", "clamp"].includes(map?.verdict?.level);

// How much a map is in all, with its unit.
export const amount = (total) => (kind.people ? number(total) : `${number(total, kind.unit === "W" ? 0 : 2)}${kind.unit ? `\u00a0${kind.unit.replace(" ", "\u00a0")}` : ""}`);

// What the answers tell apart of a map of people: squares of cells, each with its interval.
const LOOKS = ["blank", "hatched", "solid"];
const blocksOf = (map) => map.blocks && map.blocks.rows.map(([y, x, rows, columns, share, low, high, look]) => ({ y, x, rows, columns, share, low, high, look: LOOKS[look], cells: rows * columns }));

// What each cell has of its block, by a rule.
function spread(map, rule) {
  const cells = map.mass.map((row) => row.map(() => 0));
  for (const one of blocksOf(map)) for (let y = one.y; y < one.y + one.rows; y++) cells[y].fill(rule(one), one.x, one.x + one.columns);
  return cells;
}

// The share of each cell, alike within a block; none where there are few.
const drawnOf = (map) => (map.blocks ? spread(map, ({ look, share, cells }) => (look === "blank" ? 0 : share / cells)) : map.mass);

// What can be seen of a map, most wanted first: { id, cells, paint, what }.
function layersOf(map) {
  const share = { id: "share", cells: drawnOf(map), paint: heated, what: t(kind.people ? "legend.people" : "legend.warmth", { size: cellSize() }), name: t(kind.people ? "layer.where" : "layer.share") };
  const unsure = { id: "sd", cells: map.sd, paint: doubted, what: t("legend.sd", { size: cellSize() }), name: t("layer.sd") };
  // Of no cell alone is it known where there are blocks.
  if (map.blocks) Object.assign(unsure, { cells: spread(map, ({ low, high }) => (high - low) / 2), what: t("legend.half", { p: percent(map.blocks.level) }) });
  if (kind.people) return unsure.cells ? [share, unsure] : [share];
  const present = map.credible?.present;
  if (!present || map.mass.length === 1) return [share];
  return [{ id: "chance", cells: present, paint: heated, what: t("legend.chance", { size: cellSize() }), name: t("layer.chance") }, share];
}

export const layerOf = (map, wanted) => layersOf(map).find(({ id }) => id === wanted) || layersOf(map)[0];

// A map for rooms beside each other, whose cells differ: what is on a square metre of each cell, or
// the chance that a source is on a square of this size.
export function densityOf(map, wanted, square_m2) {
  const drawing = drawingOf({ map }, wanted), { id } = drawing, area = placeOf(1, 0) * placeOf(1, 1);
  const each = id === "sd" && map.blocks ? spread(map, ({ low, high, cells }) => (high - low) / 2 / cells) : drawing.cells;
  const times = (id === "chance" ? square_m2 : allOf(map)) / area, cells = each.map((row) => row.map((share) => share * times));
  return { ...drawing, cells, most: Math.max(...cells.flat()), silent: null };
}

// How much a map is of: of people those of one round, for it may be made from the answers of many.
export const allOf = (map) => (kind.people ? map.sensors_used : null) ?? map.total;

// Which sensors did not answer, by their number; null where answers are no sensor's.
function silentOf(release) {
  if (kind.people) return null;
  return new Set((release?.values || []).flatMap((value, i) => (value === null ? [i] : [])));
}

// What the pen needs of a map, in the colours of a scale that may be another map's too.
function drawingOf({ map, release }, wanted, least = 0) {
  const layer = layerOf(map, wanted), plane = map.mass.length > 1;
  const faint = layer.id === "share" && map.blocks ? spread(map, ({ look }) => look === "hatched") : null;
  return {
    ...layer,
    paint: isDoubtful(map) ? greyed : plane && room.picture && layer.paint === heated ? embered : layer.paint,
    headline: layer.id === "sd" ? layer.what : map.blocks && !placesOf(map).length ? "" : kind.all,
    most: Math.max(mostOf({ map }, wanted), least) || 1,
    present: plane ? null : map.credible?.present,
    sources: kind.people || isDoubtful(map) || (plane && layer.id === "share" && map.credible) ? [] : (map.sources || []).filter((one) => plane || one.within !== null),
    faint,
    silent: silentOf(release),
  };
}

const tallest = () => Math.max(0.7 * window.innerHeight, 260);

// Draw a map on a canvas; where there is none, an empty one with the same shape.
export function show(canvas, shown, wanted, least) {
  const width = Math.max(canvas.parentElement.clientWidth, 120); // before its style has come
  if (!solved(shown.map)) {
    const [columns, rows] = room.cells?.shape || [1, 1];
    const height = heightOf({ cells: Array(rows).fill(Array(columns).fill(0)) }, width, tallest());
    const pen = penOf(canvas, width, height);
    if (room.cells) drawMap(pen, { cells: Array(rows).fill(Array(columns).fill(0)), paint: heated, most: 1, sources: [], silent: null, headline: "", present: null, faint: null }, width, height);
    canvas.setAttribute("aria-label", t("map.none"));
    return null;
  }
  const drawing = drawingOf(shown, wanted, least), height = heightOf(drawing, width, tallest());
  drawMap(penOf(canvas, width, height), drawing, width, height);
  const words = placesOf(shown.map).slice(0, 3).map((one) => `${percent(one.share)} ${one.where}`);
  canvas.setAttribute("aria-label", `${at("map-title").textContent}: ${words.join(", ") || (isDoubtful(shown.map) ? at("doubt").textContent : spreadWords())}`);
  return drawing;
}

// The greatest value of a layer, for a scale that two maps share.
export function mostOf({ map }, wanted) {
  if (!solved(map)) return 0;
  const { id, cells } = layerOf(map, wanted);
  // What is mostly noise must not make the scale; where all is, it does.
  const sure = id === "share" && map.blocks ? spread(map, ({ look, share, cells: many }) => (look === "solid" ? share / many : 0)).flat() : [];
  return Math.max(...sure, 0) || Math.max(...cells.flat());
}

// The middle of a cell; without metres in parts of each side, as in a file of points.
const middle = (cell, axis) => written(placeOf(cell + 0.5, axis));
// Along the room and, in a plane, across it; the unit once.
const placed = (x, y, plane) => (plane ? `${x.replace(/\sm$/, "")}\u00a0/\u00a0${y}` : x);

// From the one end of an interval to the other, in two digits.
const twoDigits = (share) => Number((100 * share).toPrecision(2)).toLocaleString(language);
const between = ({ low, high }) => `${twoDigits(low)}\u00a0–\u00a0${twoDigits(high)}\u00a0%`;

// From the one side of a block to the other, along the room and across it.
function rangeOf({ x, y, rows, columns, cells }, plane) {
  if (cells === 1) return placed(middle(x, 0), middle(y, 1), plane);
  const edge = (cell, axis) => placeOf(cell, axis).toLocaleString(language, { maximumFractionDigits: metres() ? 1 : 2 });
  const [along, across] = [[x, columns], [y, rows]].map(([from, wide], axis) => t("place.range", { from: edge(from, axis), to: `${edge(from + wide, axis)}${metres() ? "\u00a0m" : ""}` }).replace(/ /g, "\u00a0"));
  return placed(along, across, plane).replace("/\u00a0", "/ "); // a phone breaks it there
}

// How wide a cell is, for a legend; nothing where it has no size.
export const cellSize = () => (metres() ? t("legend.size", { m: `${placeOf(1, 0).toLocaleString(language, { maximumFractionDigits: 2 })}\u00a0m` }) : "");

const spreadWords = () => t(kind.people ? "sure.apart" : "sources.spread");

// The likely sources of a map, or what of it may be spoken of: its fullest blocks, or cells.
function placesOf(map) {
  const plane = map.mass.length > 1;
  if (isDoubtful(map)) return [];
  if (!kind.people) return (map.sources || []).map((one) => ({ ...one, where: placed(written(one.x), one.y === null ? "" : written(one.y), plane) }));
  if (map.blocks) {
    const all = blocksOf(map); // a map of before claims names none
    return (map.blocks.claims || []).slice(0, FULLEST).map((at) => all[at])
      .map((one) => ({ ...one, where: rangeOf(one, plane) }));
  }
  return map.mass.flatMap((cells, y) => cells.map((share, x) => ({ x, y, share, sd: map.sd ? map.sd[y][x] : null })))
    .filter(({ share }) => share > 0).sort((a, b) => b.share - a.share).slice(0, FULLEST)
    .map((one) => ({ ...one, where: placed(middle(one.x, 0), middle(one.y, 1), plane) }));
}

const rms = (values) => Math.sqrt(values.reduce((sum, one) => sum + one * one, 0) / values.length);

// What is wrong with a map; what exactly is, `why` says in the words of who drew it.
function verdictWords({ verdict }) {
  if (!verdict || verdict.level === "fits") return "";
  const { level, says, dropped = [], clamped = [] } = verdict, plane = room.cells.shape[1] > 1;
  const places = sensorPlaces().map(([x, y]) => placed(written(placeOf(x, 0)), written(placeOf(y, 1)), plane));
  const where = (sensors) => ({ sensors: sensors.map((i) => places[i] ?? i).join(", ") });
  if (level === "assumptions") return t(kind.people ? "verdict.assumptions.people" : "verdict.assumptions");
  if (level === "clamp") return t("verdict.clamp", where(clamped));
  const own = { sensors: dropped.length ? "" : t("verdict.scatter"), other: t("verdict.other"), weak: t("verdict.weak") }[level];
  return [dropped.length ? t("verdict.sensors", where(dropped.map(({ sensor }) => sensor))) : "", own ?? says].filter(Boolean).join(" ");
}

function countWords({ says, count }) {
  if (!count) return says; // of a map of before there was one
  const { low, high, chance, median: n, several, empty } = count, given = { p: percent(chance), low, high, n };
  return [t(low < high ? "count" : n < 2 ? `count.exact.${n}` : "count.exact", given), several ? t("count.several") : "", empty ? t("count.empty") : ""].filter(Boolean).join(" ");
}

// What a map says of itself: what is wrong with it, how sure it is, and how far off a guess would be.
export function sureWords(map) {
  const said = verdictWords(map), { credible, sd } = map;
  if (isDoubtful(map)) return said;
  if (kind.people) {
    if (!sd) return said;
    if (map.blocks) {
      const [top] = placesOf(map);
      return [said, top ? t(top.cells > 1 ? "sure.coarse" : "sure.block", { between: between(top), place: top.where, p: percent(map.blocks.level) }) : t("sure.apart")].filter(Boolean).join(" ");
    }
    const [top] = placesOf(map), all = sd.flat();
    return [said, t("sure.people", { share: percent(top.share), sd: percent(top.sd), off: percent(rms(all)), even: percent(1 / all.length) })].filter(Boolean).join(" ");
  }
  const far = credible?.expected_error ?? null, blind = credible?.blind_error ?? null;
  const words = far === null ? "" : t(blind === null ? "sure.off" : "sure.blind", { far: written(far), blind: blind === null ? "" : written(blind) });
  return [said, credible ? countWords(credible) : "", words].filter(Boolean).join(" ");
}

// Tell all that is known of the map that is shown, beside its picture.
export function tell(shown, drawing) {
  const { map } = shown, has = solved(map);
  at("map").dataset.number = map ? map.number : "";
  at("empty").hidden = has;
  say("empty", !map ? t("map.first") : map.status === "nobody" ? t("map.nobody", { p: percent(map.nobody ?? 1) }) : t("map.because", { n: map.number, why: told(map) }));
  at("doubt").hidden = !(has && isDoubtful(map));
  say("doubt", has && isDoubtful(map) ? verdictWords(map) : "");
  say("sure", has && !isDoubtful(map) ? sureWords(map) : ""); // what is wrong stands above it
  say("note", map ? noteOf(map) : "");
  tellLayers(has ? map : null, drawing);
  tellLegend(drawing, map);
  tellPlaces(has ? map : null, Boolean(map));
}

function noteOf(map) {
  if (!solved(map)) return "";
  const from = kind.people && map.total > 0 ? counted("map.answers", map.total) : "";
  const exact = map.verdict?.why ? t("map.exactly", { why: exactly(map.verdict) }) : "";
  return [from, map.why === "optimal" ? "" : told(map), exact].filter(Boolean).join(" · ");
}

function tellLayers(map, drawing) {
  const layers = map ? layersOf(map) : [];
  at("layers").hidden = layers.length < 2;
  const same = layers.map(({ id }) => `${id}${id === drawing.id}`).join();
  if (same === at("layers").dataset.shown) return; // a button that is being pressed stays
  at("layers").dataset.shown = same;
  const held = at("layers").contains(document.activeElement) && document.activeElement.dataset.layer;
  at("layers").replaceChildren(...layers.map(({ id, name }) => make("button", name, { type: "button", "data-layer": id, "aria-pressed": String(id === drawing.id) })));
  if (held) at("layers").querySelector(`[data-layer="${held}"]`)?.focus();
}

function tellLegend(drawing, map) {
  at("legend").hidden = !drawing;
  if (!drawing) return;
  const pen = penOf(at("ramp"), 112, 10);
  drawScale(pen, drawing.paint, drawing.most, 0, 0, 112);
  say("legend-most", percent(drawing.most));
  say("legend-what", drawing.what);
  const rings = drawing.sources.some(({ within }) => within !== null), plane = map.mass.length > 1;
  const keys = [
    rings && ["ring", t("legend.ring", { p: percent(map.credible?.level ?? 0.9) })],
    plane && drawing.sources.length && ["cross", t("legend.cross")],
    drawing.present && ["hills", t("legend.hills")],
    drawing.faint && ["hatched", t("legend.hatched")],
    drawing.silent && sensorPlaces().length && ["sensor", t("legend.sensor")],
    drawing.silent?.size && ["silent", t("legend.silent")],
    plane && room.cells.floor && ["plan", t("legend.plan")],
  ].filter(Boolean);
  at("keys").replaceChildren(...keys.map(([name, words]) => make("li", words, { "data-key": name })));
}

function tellPlaces(map, any) {
  const found = map ? placesOf(map) : [];
  at("sources").hidden = !found.length;
  if (!map) say("sources-note", t(any ? "sources.empty" : "sources.none"));
  else if (!found.length) say("sources-note", isDoubtful(map) ? t("sources.doubt") : spreadWords());
  else {
    // Where north is up the corners lie elsewhere.
    const where = map.mass.length > 1 && metres() && !room.cells.earth ? t("sources.where") : "";
    say("sources-note", [where, !kind.people ? t(`unit.${kind.unit}`) : map.blocks ? t("sources.blocks", { p: percent(map.blocks.level) }) : t("sources.people")].filter(Boolean).join(" "));
  }
  if (!kind.people) say("within", t("sources.within", { p: percent(map?.credible?.level ?? 0.9) }));
  else say("within", map?.blocks ? t("sources.between") : kind.within);
  say("part", t(kind.people ? "sources.share.people" : "sources.share.warmth"));
  const known = kind.people ? Boolean(map?.sd) : true;
  at("within").hidden = !known; // a map that does not know how sure it is has no column for it
  at("places").replaceChildren(...found.map((one) => makeRow(
    one.where,
    ...(known ? [map.blocks ? between(one) : kind.people ? percent(one.sd) : one.within === null ? t("sources.unknown") : written(one.within)] : []),
    make("b", percent(one.share)),
    amount(one.share * allOf(map)),
  )));
}

// What the sensors sent, or what was published of the answers, of the round that is shown.
export function showWire({ release }) {
  const canvas = at("wire"), width = Math.min(canvas.parentElement.clientWidth, 720), values = release?.values || [];
  const answers = kind.people && release?.outer, readings = !kind.people && values.some((v) => v !== null);
  canvas.hidden = !(answers || readings);
  if (canvas.hidden || !room.cells) return;
  if (answers) {
    const [columns, rows] = release.outer, side = Math.min(width, (320 * columns) / rows);
    canvas.style.maxWidth = `${side}px`;
    const height = rows > 1 ? (side * rows) / columns : 90;
    drawAnswers(penOf(canvas, side, height), release, side, height);
    canvas.setAttribute("aria-label", t("wire.answers", { n: release.reports, x: columns, y: rows, most: values.reduce((a, b) => Math.max(a, b), 0) }));
    return;
  }
  const known = values.filter((v) => v !== null), plane = room.cells.shape[1] > 1;
  const word = (v) => (release.exponent === undefined ? number(v) : metres() ? t("wire.degrees", { n: number(v / 2 ** release.exponent, 2) }) : number(v / 2 ** release.exponent, 2));
  canvas.style.maxWidth = `${width}px`;
  const height = plane ? heightOf({ cells: Array(room.cells.shape[1]).fill(Array(room.cells.shape[0]).fill(0)) }, width, 340) : 150;
  drawReadings(penOf(canvas, width, height), values, width, height, word);
  canvas.setAttribute("aria-label", t("wire.readings", { n: known.length, low: word(Math.min(...known)), high: word(Math.max(...known)) }));
}

// What the map says of one cell, for the pointer and for the arrow keys.
export function read(shown, wanted, cell) {
  const { map } = shown, [x, y] = cell.map(Math.floor);
  const { id, cells } = layerOf(map, wanted), share = cells[y]?.[x];
  if (share === undefined) return "";
  const place = placed(middle(x, 0), middle(y, 1), map.mass.length > 1), sd = kind.people && map.sd?.[y]?.[x];
  const block = map.blocks && blocksOf(map).find((one) => y >= one.y && y < one.y + one.rows && x >= one.x && x < one.x + one.columns);
  const said = block ? t("read.block", { place, between: between(block), x: block.columns, y: block.rows }) : sd ? t("read.sd", { place, share: percent(map.mass[y][x], 2), sd: percent(sd, 2) }) : t(`read.${id === "chance" ? id : kind.people ? "people" : "warmth"}`, { place, share: percent(share, 2) });
  const inside = (room.cells.floor?.furniture || []).find(({ rect: [left, top, right, bottom] }) => {
    const [a, b] = [placeOf(x + 0.5, 0), placeOf(y + 0.5, 1)];
    return a > left && a < right && b > top && b < bottom;
  });
  const earth = room.cells.earth && onEarth([x + 0.5, y + 0.5]);
  const where = earth ? t("read.earth", { lat: number(earth.lat, 5), lon: number(earth.lon, 5) }) : "";
  return [said, inside?.name, where].filter(Boolean).join(" · ");
}

export function cellAt(shown, wanted, event) {
  const { left, top, width, height } = at("map").getBoundingClientRect();
  return solved(shown.map) ? cellUnder(layerOf(shown.map, wanted), width, height, event.clientX - left, event.clientY - top) : null;
}

// --- pictures that are kept ---

function wrap(pen, text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines[lines.length - 1]} ${word}`.trim();
    if (pen.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

const WIDE = 1000;

// A whole sheet: when and where, a picture, its scale, and what is to be said of it.
function sheet(make, { title, line, tall, draw, scale, says }) {
  const ruler = new SvgPen(1, 1);
  ruler.font = "14px system-ui, sans-serif";
  const lines = says.filter(Boolean).flatMap((text) => wrap(ruler, text, WIDE - 48));
  const height = 92 + tall + 56 + 20 * lines.length + 12, pen = make(WIDE, height);
  const write = (font, text, x, y) => {
    [pen.fillStyle, pen.font, pen.textAlign] = ["#1c1526", `${font} system-ui, sans-serif`, "left"];
    pen.fillText(text, x, y);
  };
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, WIDE, height);
  write("bold 22px", title, 24, 40);
  write("14px", line, 24, 66);
  pen.font = "12px system-ui, sans-serif";
  const board = make(WIDE - 48, tall, [24, 82]), below = 82 + tall + 28;
  draw(board, WIDE - 48, tall);
  board.done?.();
  write("14px", scale.least, 24, below);
  drawScale(pen, scale.paint, 1, 60, below - 10, 160);
  write("14px", scale.most, 228, below);
  lines.forEach((text, i) => write("14px", text, 24, below + 28 + 20 * i));
  return pen;
}

export const canKeep = (shown) => solved(shown.map);

// What a sheet of a map holds: it, its scale, what it says of itself and what it is not.
export function sheetOf(shown, wanted) {
  const drawing = drawingOf(shown, wanted);
  return {
    name: `heatveil-${shown.map.number}`,
    title: at("map-title").textContent,
    line: [room.cells.site, t("map.round", { n: shown.map.number }), shown.at_s ? moment(shown.at_s) : ""].filter(Boolean).join(", "),
    tall: heightOf(drawing, WIDE - 48, 700),
    draw: (pen, width, height) => drawMap(pen, drawing, width, height),
    scale: { least: "0\u00a0%", paint: drawing.paint, most: `${percent(drawing.most)}  ${drawing.what}` },
    says: [sureWords(shown.map), at("not").textContent, at("promise").firstElementChild?.textContent],
  };
}

export function keepSvg(told) {
  let whole = null;
  const pen = sheet((width, height, place) => {
    const made = new SvgPen(width, height);
    if (!place) whole = made;
    else made.done = () => whole.parts.push(`<g transform="translate(${place})">${made.parts.join("")}</g>`);
    return made;
  }, told);
  save(new Blob([pen.text()], { type: "image/svg+xml" }), `${told.name}.svg`);
}

export function keepPng(told) {
  const canvas = document.createElement("canvas");
  const pen = sheet((width, height, place) => {
    if (!place) return penOf(canvas, width, height);
    const own = canvas.getContext("2d");
    own.save();
    own.translate(...place);
    own.done = () => own.restore();
    return own;
  }, told);
  delete pen.done;
  canvas.toBlob((blob) => save(blob, `${told.name}.png`));
}

function save(blob, name) {
  const link = make("a", "", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

