import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readIfPresent } from '#image-build/files.ts';

/** Debian's texts refer to these by path; every Debian has them. */
const commonLicenses = '/usr/share/common-licenses';

/** The npm package of Node's binary comes without its licence. */
const nodeLicense = join(import.meta.dirname, 'licenses/node-24.txt');

/**
 * Copyright notices and licences of what is shipped: Node, the npm packages in bundles, the Debian packages in the ramdisk
 * (also those of which no file was taken), and the licences that Debian's refer to. Equal texts stand once.
 * @param options.npmPackages the packages' directories
 * @param options.tree the unpacked Debian packages, if any are shipped
 */
export async function licensesText(options: {
  readonly npmPackages: readonly string[];
  readonly tree?: string;
  readonly common?: string;
}): Promise<string> {
  const sections = new Map<string, string[]>();
  const add = (title: string, text: string): void => {
    const key = text.trim();
    sections.set(key, [...(sections.get(key) ?? []), title]);
  };
  add('Node.js', await readFile(nodeLicense, 'utf8'));
  for (const directory of options.npmPackages) {
    const { title, text } = await npmLicense(directory);
    add(title, text);
  }
  if (options.tree !== undefined) await addDebian(add, join(options.tree, 'usr/share/doc'), options.common);
  const rule = '='.repeat(80);
  return [...sections].map(([text, titles]) => `${rule}\n${titles.join('\n')}\n${rule}\n\n${text}\n`).join('\n');
}

async function addDebian(
  add: (title: string, text: string) => void,
  documents: string,
  common = commonLicenses,
): Promise<void> {
  for (const name of (await readdir(documents)).sort()) {
    const text = await readIfPresent(join(documents, name, 'copyright'));
    if (text !== undefined) add(`Debian package ${name}`, text);
  }
  for (const entry of await filesOf(common)) {
    add(`/usr/share/common-licenses/${entry.name}`, await readFile(entry.path, 'utf8'));
  }
}

export const PackageJson = z.object({ name: z.string(), version: z.string(), license: z.string().optional() });

async function npmLicense(directory: string): Promise<{ readonly title: string; readonly text: string }> {
  const { name, version, license } = PackageJson.parse(
    JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')),
  );
  const files = (await readdir(directory)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
  return {
    title: `npm package ${name} ${version}`,
    text: texts.length > 0 ? texts.join('\n') : `License: ${license ?? 'not stated'} (the package holds no text of it)`,
  };
}

/** Files of a directory with links left out: GPL is a link to GPL-3. */
async function filesOf(directory: string): Promise<readonly { readonly name: string; readonly path: string }[]> {
  const entries = (await readdir(directory, { withFileTypes: true })).filter((entry) => entry.isFile());
  return entries.map(({ name }) => ({ name, path: join(directory, name) })).sort((a, b) => (a.name < b.name ? -1 : 1));
}
