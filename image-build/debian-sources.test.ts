import { expect, test } from 'vitest';
import { oneLineSources } from '#image-build/debian-sources.ts';

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
