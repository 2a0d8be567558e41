import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { debianSources, oneLineSources } from '#image-build/package-tree.ts';

test('takes the deb lines of the suite, its updates and security', () => {
  const text = [
    '# deb http://mirror.test/debian bookworm main',
    'deb cdrom:[Debian GNU/Linux 12]/ bookworm main',
    'deb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian bookworm main',
    'deb http://mirror.test/debian bookworm-updates main',
    'deb http://mirror.test/security bookworm-security main contrib',
    'deb-src http://mirror.test/debian bookworm main',
    'deb http://mirror.test/debian trixie main',
    'deb http://mirror.test/vendor bookwormish main',
  ].join('\n');
  expect(oneLineSources(text, 'bookworm')).toEqual([
    'deb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian bookworm main',
    'deb http://mirror.test/debian bookworm-updates main',
    'deb http://mirror.test/security bookworm-security main contrib',
  ]);
});

test('another suite comes from the mirrors of the host’s own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-sources-'));
  const file = join(folder, 'debian.sources');
  await writeFile(
    file,
    `Types: deb deb-src
# a comment
URIs: http://mirror.test/bookworm
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/k.gpg

Types: deb
Enabled: no
URIs: http://mirror.test/off
Suites: bookworm
Components: main

Types: deb
URIs: http://mirror.test/security
Suites: bookworm-security
Components: main
`,
  );
  const files = [file];
  expect(await debianSources('bookworm', { files })).toEqual([file]);
  expect(await debianSources('trixie', { files })).toEqual([]);
  expect(await debianSources('trixie', { files, hostSuite: 'bookworm' })).toEqual([
    'deb [signed-by=/usr/share/keyrings/k.gpg] http://mirror.test/bookworm trixie main contrib',
    'deb [signed-by=/usr/share/keyrings/k.gpg] http://mirror.test/bookworm trixie-updates main contrib',
    'deb http://mirror.test/security trixie-security main',
  ]);
  await rm(folder, { recursive: true });
});
