import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { paths } from '#image-build/build-context.ts';
import { bundleOptions } from '#shared/bundle-options.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Wrapper that Node itself puts around a CommonJS module, for `start-agent.cjs`, which runs it from bytecode. */
const wrapper = { start: '(function (exports, require, module, __filename, __dirname) {', end: '})' };

export interface AgentBundle {
  readonly code: Uint8Array;
  readonly sha256: string;
  /** Directories of the npm packages that parts of it come from, sorted. */
  readonly npmPackages: readonly string[];
}

/**
 * The agent with all it imports as one CommonJS module, as an expression that is its function; a native addon is not a part of
 * it and must lie beside it. (For ES modules there is no bytecode, and Node links all of its own modules that they import.)
 * @param customManagers absolute paths of modules of hardware managers
 * @throws AppError `internal` when it can't be bundled, for instance for a native addon, which no single file can hold
 */
export async function bundleAgent(entry: string, customManagers: readonly string[] = []): Promise<AgentBundle> {
  try {
    const result = await build({
      ...bundleOptions,
      entryPoints: [entry],
      absWorkingDir: paths.repository,
      minify: true,
      keepNames: true,
      nodePaths: [join(paths.repository, 'node_modules')],
      plugins: [customManagersPlugin(customManagers)],
      banner: { js: wrapper.start },
      footer: { js: wrapper.end },
    });
    const [output] = result.outputFiles;
    if (output === undefined) throw new AppError('internal', 'esbuild wrote no file');
    return {
      code: output.contents,
      sha256: createHash('sha256').update(output.contents).digest('hex'),
      npmPackages: packagesOf(Object.keys(result.metafile.inputs)).map((path) => join(paths.repository, path)),
    };
  } catch (cause) {
    throw new AppError('internal', `bundle the agent from ${entry}`, { cause });
  }
}

/** `node_modules/@hono/node-server/dist/index.mjs` → `node_modules/@hono/node-server`; of nested ones the inner. */
export function packagesOf(inputs: readonly string[]): string[] {
  const found = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? []);
  return [...new Set(found)].sort();
}

/** Folder, in a directory given by `--extra`, of script steps with their programs. */
export const scriptFolder = 'steps.d';

/** The modules of hardware managers in the directories, absolute paths: `*.ts` and `*.mjs`, tests left out. */
export async function listCustomManagers(directories: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const directory of directories) {
    if (!(await stat(directory).catch(() => undefined))?.isDirectory()) {
      throw new AppError('not_found', `--extra ${directory}: it must be a directory`);
    }
    const names = (await readdir(directory)).filter((name) => /\.(ts|mjs)$/.test(name) && !/\.test\./.test(name));
    found.push(...names.sort().map((name) => resolve(directory, name)));
  }
  return found;
}

/**
 * Puts the modules into the agent's bundle, in place of `agent/custom/custom-modules.ts`. Each is imported when the agent
 * loads it, so that one that throws spoils nothing else. They may import `#agent/…`, `#shared/…` and the agent's npm
 * packages wherever they lie: all of it is the agent's own copy, or `instanceof` would not know its errors and schemas.
 */
function customManagersPlugin(modules: readonly string[]): Plugin {
  return {
    name: 'custom hardware managers',
    setup: (build) => {
      build.onLoad({ filter: /\/agent\/custom\/custom-modules\.ts$/ }, () => ({
        contents: `export const customModules = [${modules.map(moduleEntry).join(', ')}];`,
        resolveDir: paths.repository,
      }));
      build.onResolve({ filter: /^#(agent|shared)\// }, ({ path }) => ({
        path: join(paths.repository, path.slice(1)),
      }));
    },
  };
}

function moduleEntry(path: string): string {
  return `{ file: ${JSON.stringify(basename(path))}, load: () => import(${JSON.stringify(path)}) }`;
}
