import { mkdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { importMetaBanner, importMetaPlugin } from '#conductor/bundle/import-meta.ts';
import { bundleOptions } from '#shared/bundle-options.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';

const repository = join(import.meta.dirname, '../..');

/** Names of bundles and what they begin with. */
export const bundledPrograms = {
  conductor: 'conductor/start/main.ts',
  baton: 'conductor/start/baton.ts',
  'session-thread': 'conductor/kernel/db/session/session-thread.ts',
  'site-thread': 'conductor/sites/apart/site-thread.ts',
  'parse-program': 'conductor/sites/documents/yaml/parse-program.ts',
} as const;

const pageScripts = { board: 'conductor/board/board.ts', terminal: 'conductor/board/terminal.ts' } as const;

/** Not installed, or not built: pg and ssh2 do without. */
const external = ['pg-native', 'cpu-features', '*/sshcrypto.node'];

/** For who runs a bundle with the system's Node.js; `launch.sh` has looked at it already. */
const versionBanner = `
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write('baton: needs Node.js 24 or newer, this is ' + process.versions.node +
    ': conductor/start/conductor and conductor/cli/baton take the one that npm ci brings\\n');
  process.exit(2);
}`;

/**
 * Tick of a file's times: what changed in the same tick of the kernel's clock as the build began must count as newer.
 */
const clockTickMs = 20;

/**
 * Makes the bundles in `build/bundle`. Each file is replaced whole, and `stamp`, by which `launch.sh` knows whether they are
 * up to date, comes last: it holds the sources' digest and is as old as the beginning, so that what changes meanwhile leads
 * to another build.
 * @returns the files that went in, relative to the clone
 * @throws AppError `internal` for a source that can't be bundled, or a folder that can't be written
 */
export async function buildBundles(folder = join(repository, 'build/bundle')): Promise<string[]> {
  const stamp = join(folder, 'stamp');
  const unfinished = (file: string): string => `${file}.${process.pid}`;
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(unfinished(stamp), '');
    const began = new Date((await stat(unfinished(stamp))).mtimeMs - clockTickMs);
    await writeFile(unfinished(stamp), await digestSources());
    const bundles = [await bundle(bundledPrograms, folder, forNode), await bundle(pageScripts, folder, forBrowsers)];
    for (const { path, contents } of bundles.flatMap(({ outputFiles }) => outputFiles)) {
      await writeFile(unfinished(path), contents);
      await rename(unfinished(path), path);
    }
    await utimes(unfinished(stamp), began, began);
    await rename(unfinished(stamp), stamp);
    return bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  } catch (cause) {
    await rm(unfinished(stamp), { force: true });
    throw new AppError('internal', `build the bundles in ${folder}`, { cause });
  }
}

/** For programs that the system's Node.js or another may run, from below a clone or the Debian package. */
export const forNode = {
  external,
  // comments alone hold letters for which V8 keeps all of a file's text in two bytes each
  minifyWhitespace: true,
  // beside it and without the texts: for a Node that is started with --enable-source-maps
  sourcemap: 'linked',
  sourcesContent: false,
  plugins: [importMetaPlugin(repository)],
  banner: { js: versionBanner + importMetaBanner },
} satisfies BuildOptions;
export const forBrowsers = {
  platform: 'browser',
  format: 'iife',
  target: 'es2023',
  minify: true,
  loader: { '.css': 'text' },
} satisfies BuildOptions;

async function bundle(
  entryPoints: Readonly<Record<string, string>>,
  folder: string,
  options: Omit<BuildOptions, 'write' | 'metafile'>,
) {
  const result = await build({
    ...bundleOptions,
    ...options,
    absWorkingDir: repository,
    entryPoints: { ...entryPoints },
    outdir: folder,
    outExtension: { '.js': '.cjs' },
  });
  const [warning] = result.warnings;
  if (warning) throw new AppError('internal', `${warning.location?.file ?? 'esbuild'}: ${warning.text}`);
  requireWatched(result.metafile);
  return result;
}

async function digestSources(): Promise<string> {
  const script = join(import.meta.dirname, 'sources.sh');
  return (await run('sh', ['-ec', '. "$0"; digest', script], { env: { root: repository } })).stdout;
}

/** Refuses sources outside the folders that `launch.sh` watches: a change of anything else would go unnoticed. */
function requireWatched({ inputs }: Metafile): void {
  const watched = /^(conductor|shared)\/.*\.ts$|^package\.json$|(^|\/)node_modules\//;
  const [unwatched] = Object.keys(inputs).filter((path) => !watched.test(path));
  if (unwatched !== undefined) throw new AppError('internal', `launch.sh does not look at ${unwatched}`);
}
