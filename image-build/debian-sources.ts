import { readIfPresent } from '#image-build/read-if-present.ts';

const sourcesFiles = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'];

/**
 * mmdebstrap's mirror arguments: the host's own Debian sources when they are for this suite, or those for `hostSuite`
 * told of this one instead, so that a site's mirror is used; else none, which is Debian's mirror with updates and
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
