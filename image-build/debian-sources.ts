import { readIfPresent } from '#image-build/read-if-present.ts';

const sourcesFiles = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'];

/**
 * mmdebstrap's mirror arguments: the host's own Debian sources when they are for this suite, so that a site's mirror
 * is used; else none, which is Debian's mirror with updates and security.
 */
export async function debianSources(suite: string, files: readonly string[] = sourcesFiles): Promise<string[]> {
  for (const file of files) {
    const text = await readIfPresent(file);
    if (text === undefined) continue;
    if (file.endsWith('.sources')) {
      if (suitesOf(text).includes(suite)) return [file];
    } else {
      const lines = oneLineSources(text, suite);
      if (lines.length > 0) return lines;
    }
  }
  return [];
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
