import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { usageError } from '#conductor/cli/command.ts';
import { readDocument } from '#conductor/cli/read-input-file.ts';

/** What Airship's Pegleg reads of a site: `site/NAME/site-definition.yaml`, of schema `pegleg/SiteDefinition/v1`. */
const SiteDefinition = z.object({
  data: z.object({
    site_type: z.string().optional(),
    repositories: z.record(z.string(), z.unknown()).nullish(),
  }),
});

interface CheckedOutSite {
  readonly name: string;
  readonly folders: readonly string[];
  /** What belongs to the site and is not below this directory, for people. */
  readonly missing: readonly string[];
}

/**
 * The folders of a site's documents: what all sites share, what those of its type share, and its own. A directory that is
 * laid out in another way is one site, all of it.
 * @param wanted which of several
 * @throws AppError `invalid_argument` naming the sites that there are, or the file that can't be read.
 */
export async function findCheckedOutSite(directory: string, wanted: string | undefined): Promise<CheckedOutSite> {
  const sites = await listSites(directory);
  if (wanted === undefined && sites.length === 0) {
    return { name: basename(resolve(directory)), folders: [directory], missing: [] };
  }
  const [name, another] = wanted === undefined ? sites : sites.filter((each) => each === wanted);
  if (name === undefined || another !== undefined) {
    throw usageError(
      `--site: ${wanted === undefined ? 'must be given' : `there is no site ${wanted}`}; below ${join(directory, 'site')} there are ${sites.join(', ') || 'none'}`,
    );
  }
  const file = join(directory, 'site', name, 'site-definition.yaml');
  const parsed = SiteDefinition.safeParse(await readDocument('DIR', file));
  if (!parsed.success) throw usageError(`${file}: it must have data with site_type, text, and repositories, a mapping`);
  const { site_type: type, repositories } = parsed.data.data;
  const typeFolder = type === undefined ? undefined : join(directory, 'type', type);
  if (typeFolder !== undefined && !(await isThere(typeFolder))) {
    throw usageError(`${file}: site_type is ${type}, and there is no ${typeFolder}`);
  }
  const shared = join(directory, 'global');
  return {
    name,
    folders: [
      ...((await isThere(shared)) ? [shared] : []),
      ...(typeFolder === undefined ? [] : [typeFolder]),
      join(directory, 'site', name),
    ],
    missing: Object.keys(repositories ?? {}).map(
      (repository) => `repository ${repository}, which ${file} names: check it out, and import its documents, too`,
    ),
  };
}

async function listSites(directory: string): Promise<string[]> {
  const names = await readdir(join(directory, 'site')).catch(() => []);
  const found = await Promise.all(names.map((name) => isThere(join(directory, 'site', name, 'site-definition.yaml'))));
  return names.filter((_, index) => found[index]).sort();
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
