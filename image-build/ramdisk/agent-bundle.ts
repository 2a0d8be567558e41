import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { build } from 'esbuild';
import { paths } from '#image-build/paths.ts';
import { customManagersPlugin } from '#image-build/ramdisk/custom-managers.ts';
import { bundleOptions } from '#shared/bundle-options.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What Node itself puts around a CommonJS module, for `start-agent.cjs`, which runs it from bytecode. */
const wrapper = { start: '(function (exports, require, module, __filename, __dirname) {', end: '})' };

export interface AgentBundle {
  readonly code: Uint8Array;
  readonly sha256: string;
  /** Directories of the npm packages that parts of it come from, sorted. */
  readonly npmPackages: readonly string[];
}

/**
 * The agent with all it imports as one CommonJS module, as an expression that is its function; a native addon is no part of
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
