// node host.mjs FILE: serves the handler of a file, or of an installed package, to the daemon on stdin and stdout.
// A file that cannot be served ends the process with 1 and a short message on stderr, before initialize is answered.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { surroundings } from './src/running.mjs';
import { serve } from './src/serve.mjs';
import { report, takeStdio } from './src/stdio.mjs';

const TYPESCRIPT = /\.[cm]?ts$/;

async function main(specifier) {
  if (specifier === undefined) return fail('usage: node host.mjs FILE');
  // First of all: what the file prints while it loads is no frame.
  takeStdio();
  // Before the file is loaded: what it attaches records nothing here.
  surroundings.hosted = true;
  let url;
  let isFile;
  let loaded;
  try {
    url = locate(specifier);
    isFile = fs.existsSync(path.resolve(specifier)) || specifier.startsWith('file:');
    if (TYPESCRIPT.test(url.pathname) && !process.features.typescript) await useTsx(url);
    loaded = await import(url.href);
  } catch (error) {
    return fail(`cannot load ${specifier}: ${explain(error, url)}`);
  }
  const functions = handlersOf(loaded);
  if (functions === null) {
    return fail(`${specifier} has no handler: export default async (event, ctx) => ..., or handler, or functions`);
  }
  // One object, whatever is loaded later: the peer keeps it.
  const revivers = { ...loaded.revivers };
  const reload = async () => {
    const anew = await loadAnew(url);
    for (const type of Object.keys(revivers)) delete revivers[type];
    Object.assign(revivers, anew.revivers);
    return handlersOf(anew) ?? functions;
  };
  try {
    serve(functions, {
      name: path.basename(specifier).replace(/\.[^.]*$/, ''),
      constants: loaded.constants,
      revivers,
      reset: ownReset(loaded) ?? (isFile ? reload : undefined),
    });
  } catch (error) {
    return fail(`cannot serve ${specifier}: ${error.message}`);
  }
  return undefined;
}

// A path from the working directory, or the name of a package installed there.
function locate(specifier) {
  if (specifier.startsWith('file:')) return new URL(specifier);
  const file = path.resolve(specifier);
  const isPath = path.isAbsolute(specifier) || /^\.\.?([\\/]|$)/.test(specifier);
  if (isPath || fs.existsSync(file)) return pathToFileURL(file);
  return pathToFileURL(fromWorkingDirectory().resolve(specifier));
}

const fromWorkingDirectory = () => createRequire(path.resolve('playhead-host.js'));

// The user's own tsx, where Node does not read TypeScript itself.
async function useTsx(url) {
  for (const from of [createRequire(url), fromWorkingDirectory()]) {
    let loader;
    try {
      loader = from.resolve('tsx');
    } catch {
      continue;
    }
    // What `node --import tsx` would have loaded.
    await import(pathToFileURL(loader).href);
    return;
  }
}

/** The functions of a loaded module by name, or null. `default` may be a CommonJS module's exports. */
function handlersOf(loaded) {
  const inner = isObject(loaded.default) ? loaded.default : {};
  const map = [loaded.functions, inner.functions].find(isObject);
  const single = [loaded.default, loaded.handler, inner.default, inner.handler].find(
    (found) => typeof found === 'function',
  );
  if (map !== undefined) return single === undefined ? { ...map } : { handler: single, ...map };
  return single ?? null;
}

/** A module's own way to be as good as new: the export `reset`, called with the daemon's constants. */
function ownReset(loaded) {
  const reset = [loaded.reset, loaded.default?.reset].find((found) => typeof found === 'function');
  // What it gives is its own affair: the functions stay.
  return reset === undefined ? undefined : async (constants) => void (await reset(constants));
}

let loads = 0;

// The module of the file itself. What it imports stays as it is, as does all that is global.
function loadAnew(url) {
  const again = new URL(url);
  again.searchParams.set('reset', String(++loads));
  // A CommonJS module is known by its path, whatever is asked for behind it.
  delete createRequire(url).cache[fs.realpathSync(fileURLToPath(url))];
  return import(again.href);
}

const isObject = (value) => value !== null && typeof value === 'object';

function explain(error, url) {
  if (error?.code === 'ERR_UNKNOWN_FILE_EXTENSION' && url !== undefined && TYPESCRIPT.test(url.pathname)) {
    return 'TypeScript needs Node 22.18 (22.6 with NODE_OPTIONS=--experimental-strip-types), or tsx installed beside it';
  }
  if (!(error instanceof Error)) return String(error);
  const shown = (error instanceof SyntaxError && url !== undefined && checked(url)) || String(error.stack ?? error);
  // The rest of a stack is Node's loader.
  const own = shown.split('\n').filter((line) => line !== '' && !/^\s+at .*node:internal/.test(line));
  return own.slice(0, 6).join('\n');
}

// An imported module's SyntaxError does not say where; Node's own check does.
function checked(url) {
  if (TYPESCRIPT.test(url.pathname)) return '';
  const { spawnSync } = createRequire(import.meta.url)('node:child_process');
  const { status, stderr } = spawnSync(process.execPath, ['--check', fileURLToPath(url)], { encoding: 'utf8' });
  return status === 0 ? '' : stderr;
}

function fail(message) {
  report(message);
  process.exit(1);
}

await main(process.argv[2]);
