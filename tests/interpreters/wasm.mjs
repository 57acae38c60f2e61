// Runs one script on MicroPython's WebAssembly port:   node wasm.mjs MICROPYTHON.MJS SOURCE
//
// Stands at the top of a copy of the checkout that holds edge/ and tests/vectors/ alone, in
// the port's own memory. What the script prints goes to standard output; a script that ends
// with an exception leaves its traceback on standard error and exit status 1.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [port, source] = process.argv.slice(2);
const { loadMicroPython } = await import(pathToFileURL(port));
const vm = await loadMicroPython({ stdout: (line) => console.log(line), linebuffer: true });

function copy(folder) {
  vm.FS.mkdirTree("/" + folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === "__pycache__") continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) copy(path);
    else vm.FS.writeFile("/" + path, readFileSync(path));
  }
}

try {
  for (const folder of ["edge", "tests/vectors"]) copy(folder);
  vm.FS.chdir("/");
  vm.runPython('import sys\nsys.path.insert(0, "/")');
  vm.runPython(source);
} catch (fault) {
  console.error(String(fault.message ?? fault));
  process.exitCode = 1;
}
