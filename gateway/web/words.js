// Words and figures, and where they go: always as text, never as markup.

export const at = (id) => document.getElementById(id);

export const plural = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;

export function made(tag, text, data = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  Object.assign(element.dataset, data);
  return element;
}

export function items(list, texts) {
  list.replaceChildren(...texts.map((text) => made("li", text)));
}

export function row(...cells) {
  const line = document.createElement("tr");
  line.append(...cells.map((cell, i) => {
    const one = made(i ? "td" : "th", "");
    if (!i) one.scope = "row";
    one.append(cell);
    return one;
  }));
  return line;
}

// How long ago, as one says it.
export function ago(then_s) {
  const past = Math.max(Date.now() / 1000 - then_s, 0);
  if (past < 90) return "just now";
  if (past < 5400) return `${Math.round(past / 60)} min ago`;
  return past < 172_800 ? `${Math.round(past / 3600)} h ago` : `${Math.round(past / 86_400)} days ago`;
}
