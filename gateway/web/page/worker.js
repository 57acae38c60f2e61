// Keeps the page itself for when the gateway is away, and nothing of what it shows: a map is for
// who may see it now.

const SHELL = ["/", "/style.css", "/icon.svg", "/page.js", "/draw.js", "/link.js", "/maps.js", "/panels.js", "/past.js", "/storey.js", "/words.js"];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open("heatveil").then((kept) => kept.addAll(SHELL)).then(() => self.skipWaiting()));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (event.request.method !== "GET" || !SHELL.includes(pathname)) return;
  event.respondWith(fetch(event.request).then((answer) => {
    const copy = answer.clone();
    if (answer.ok) event.waitUntil(caches.open("heatveil").then((kept) => kept.put(pathname, copy)));
    return answer;
  }).catch(() => caches.match(pathname)));
});
