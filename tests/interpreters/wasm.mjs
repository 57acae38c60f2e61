// Runs one script on MicroPython's WebAssembly port:   node wasm.mjs MICROPYTHON.MJS SOURCE
//
// Stands at the top of a copy of the checkout that holds edge/ and tests/vectors/ alone, in
// the port's own memory. What the script prints goes to standard output; a script that ends
// with an exception leaves its traceback on standard error and exit status 1.
//
// A script that ends with asyncio.run(main()) gets what the port lacks: its event loop is this
// program's, and its sockets are this program's too, behind asyncio.open_connection, without TLS.

import { readdirSync, readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [port, source] = process.argv.slice(2);
const { loadMicroPython } = await import(pathToFileURL(port));
const vm = await loadMicroPython({ stdout: (line) => console.log(line), linebuffer: true });

const RUN = "asyncio.run(main())";
const SOCKETS = `
import asyncio, sockets
from binascii import hexlify, unhexlify

class _Stream:
    out_buf = b""
    def __init__(self, number):
        self.number = number
    async def read(self, size):
        return unhexlify(await sockets.read(self.number, size))
    def write(self, data):
        sockets.write(self.number, hexlify(data).decode())
    async def drain(self):
        await asyncio.sleep(0)
    def close(self):
        sockets.close(self.number)
    async def wait_closed(self):
        pass

async def _open_connection(host, port):
    stream = _Stream(await sockets.open(host, port))
    return stream, stream

asyncio.open_connection = _open_connection
`;

const links = [];

class Link {
  constructor(host, port) {
    this.held = Buffer.alloc(0);
    this.over = false;
    this.wake = () => {};
    this.socket = createConnection({ host, port, noDelay: true });
    this.socket.on("data", (data) => this.turn(() => { this.held = Buffer.concat([this.held, data]); }));
    for (const end of ["end", "close", "error"]) this.socket.on(end, () => this.turn(() => { this.over = true; }));
  }

  turn(change) {
    change();
    this.wake();
  }

  async read(size) {
    while (!this.held.length && !this.over) await new Promise((wake) => { this.wake = wake; });
    const piece = this.held.subarray(0, size);
    this.held = this.held.subarray(size);
    return piece.toString("hex");
  }
}

vm.registerJsModule("sockets", {
  open: (host, port) =>
    new Promise((done) => {
      const link = new Link(host, port);
      const number = links.push(link) - 1;
      for (const so of ["connect", "close"]) link.socket.on(so, () => done(number));
    }),
  read: (number, size) => links[number].read(size),
  write: (number, data) => { links[number].socket.write(Buffer.from(data, "hex")); },
  close: (number) => { links[number].socket.destroy(); },
});

function copy(folder) {
  vm.FS.mkdirTree("/" + folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === "__pycache__") continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) copy(path);
    else vm.FS.writeFile("/" + path, readFileSync(path));
  }
}

function ended(fault) {
  if (fault.type !== "SystemExit") {
    console.error(String(fault.message ?? fault));
    process.exitCode = 1;
  }
  process.exit();
}

process.on("uncaughtException", ended); // of a task, where nobody waits for it
try {
  for (const folder of ["edge", "tests/vectors"]) copy(folder);
  vm.FS.chdir("/");
  vm.runPython('import sys\nsys.path.insert(0, "/")');
  if (source.trimEnd().endsWith(RUN)) {
    vm.runPython(SOCKETS);
    const whole = source.trimEnd().slice(0, -RUN.length);
    await vm.runPythonAsync(whole + "await asyncio.create_task(main())\n");
  } else vm.runPython(source);
} catch (fault) {
  ended(fault);
}
process.exit();
