import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Plugin } from 'esbuild';
import { paths } from '#image-build/paths.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Of a directory given by `--extra`: script steps with their programs. */
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
export function customManagersPlugin(modules: readonly string[]): Plugin {
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
