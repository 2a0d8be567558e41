import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type BuildContext, paths } from '#image-build/build-context.ts';
import { fileDigest, hashOf, readIfPresent } from '#image-build/files.ts';
import { AppError } from '#shared/errors/app-error.ts';

interface PackageTreeRecipe {
  /** Names the tree in the cache and in messages. */
  readonly name: string;
  readonly suite: string;
  /** Take the host's mirrors although they are listed for this suite of its own; default: only those for `suite`. */
  readonly hostSuite?: string;
  readonly packages: readonly string[];
  /** mmdebstrap's options beside the packages. */
  readonly options: readonly string[];
  /** `tree`: a directory to pick from; `tar`: an archive that keeps owners, to unpack and change. */
  readonly format: 'tree' | 'tar';
  /** Called with the new tree before it counts as complete; returns `name=version` of the packages in it. */
  readonly finish: (context: BuildContext, path: string) => Promise<readonly string[]>;
  /** The file that `finish` is in: another one makes another tree. */
  readonly finishFile: string;
}

export interface PackageTree {
  readonly path: string;
  /** `name=version`, sorted. */
  readonly packages: readonly string[];
}

/**
 * Debian packages unpacked by mmdebstrap, from `build/cache` when a tree of this recipe is there. The cache keeps the
 * versions that the mirror had when it was made: the same tree gives the same image.
 * @throws AppError `command_failed` when mmdebstrap fails
 */
export async function packageTree(context: BuildContext, recipe: PackageTreeRecipe): Promise<PackageTree> {
  const { name, suite, packages, options, format } = recipe;
  // its file, since a function's own text differs between Node and vitest, which would each remove the other's tree
  const finish = (await fileDigest(recipe.finishFile)).sha256;
  const key = hashOf({ suite, packages, options, format, finish }).slice(0, 16);
  const directory = join(paths.cache, `${name}-packages-${key}`);
  const path = join(directory, format === 'tar' ? 'tree.tar' : 'tree');
  const list = join(directory, 'packages.json');
  if (!context.refresh) {
    const cached = await readIfPresent(list);
    if (cached !== undefined) return { path, packages: z.array(z.string()).parse(JSON.parse(cached)) };
  }
  context.say(`${name}: fetching and unpacking ${packages.length} Debian packages and what they need`);
  await mkdir(paths.cache, { recursive: true });
  // trees of earlier recipes too: each is some hundred megabytes
  const old = (await readdir(paths.cache)).filter((entry) => entry.startsWith(`${name}-packages-`));
  for (const entry of old) await rm(join(paths.cache, entry), { recursive: true });
  await mkdir(directory, { recursive: true });
  const mirrors = await debianSources(suite, recipe.hostSuite === undefined ? {} : { hostSuite: recipe.hostSuite });
  await context.run('mmdebstrap', ['--quiet', `--include=${packages.join(',')}`, ...options, suite, path, ...mirrors], {
    timeoutMs: 15 * 60_000,
  });
  const versions = [...(await recipe.finish(context, path))].sort();
  if (versions.length === 0) {
    throw new AppError('internal', `list the packages that mmdebstrap unpacked for ${name}: none found`);
  }
  // written last: its presence says that the tree is whole
  await writeFile(`${list}.new`, JSON.stringify(versions, null, 1));
  await rename(`${list}.new`, list);
  return { path, packages: versions };
}

const sourcesFiles = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'];

/**
 * mmdebstrap's mirror arguments: the host's own Debian sources when they are for this suite, or those for `hostSuite`
 * configured with this one instead, so that a site's mirror is used; else none, which is Debian's mirror with updates and
 * security.
 */
export async function debianSources(
  suite: string,
  options: { readonly hostSuite?: string; readonly files?: readonly string[] } = {},
): Promise<string[]> {
  for (const file of options.files ?? sourcesFiles) {
    const text = await readIfPresent(file);
    if (text === undefined) continue;
    const isDeb822 = file.endsWith('.sources');
    if (isDeb822 && suitesOf(text).includes(suite)) return [file];
    const lines = isDeb822 ? oneLineForm(text) : text;
    for (const asked of [suite, options.hostSuite ?? suite]) {
      const found = oneLineSources(lines, asked);
      if (found.length > 0) return asked === suite ? found : found.map((line) => renameSuite(line, asked, suite));
    }
  }
  return [];
}

/** The `deb` lines that a deb822 file of apt's comes to (sources.list(5)), with the options that choose keys and architectures. */
function oneLineForm(deb822: string): string {
  const stanzas = deb822.replaceAll(/^#.*\n?/gm, '').split(/\n\s*\n/);
  return stanzas
    .flatMap((stanza) => {
      const field = (name: string): string[] =>
        (new RegExp(`^${name}:((?:.*\\n?)(?:[ \\t].*\\n?)*)`, 'im').exec(stanza)?.[1] ?? '')
          .split(/\s+/)
          .filter(Boolean);
      if (!field('Types').includes('deb') || field('Enabled')[0] === 'no') return [];
      const given = { arch: field('Architectures').join(','), 'signed-by': field('Signed-By').join(',') };
      const options = Object.entries(given).flatMap(([name, value]) => (value === '' ? [] : [`${name}=${value}`]));
      const prefix = options.length === 0 ? 'deb' : `deb [${options.join(' ')}]`;
      return field('URIs').flatMap((uri) =>
        field('Suites').map((suite) => [prefix, uri, suite, ...field('Components')].join(' ')),
      );
    })
    .join('\n');
}

function renameSuite(line: string, from: string, to: string): string {
  // the first word after the address; the address itself may hold the suite's name
  return line.replace(/^(deb\s+(?:\[[^\]]*\]\s+)?\S+\s+)(\S+)/, (_, start: string, name: string) => {
    return `${start}${to}${name.slice(from.length)}`;
  });
}

/** Suites named in a deb822 file. */
function suitesOf(text: string): string[] {
  return [...text.matchAll(/^Suites:(.*)$/gim)].flatMap(([, suites]) => (suites ?? '').trim().split(/\s+/));
}

/** The `deb` lines of `sources.list` that belong to the suite and can be reached without a CD in the drive. */
export function oneLineSources(text: string, suite: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^deb\s/.test(line) && !line.includes('cdrom:'))
    .filter((line) => {
      const words = line.replace(/\[[^\]]*\]/, '').split(/\s+/);
      return words[2] === suite || words[2]?.startsWith(`${suite}-`) === true;
    });
}
