import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { macOfAddress } from '#conductor/boot/mac-of-address.ts';

test('a machine on the network is known by its address, one that has not answered is not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-arp-'));
  const file = join(folder, 'arp');
  await writeFile(
    file,
    `IP address       HW type     Flags       HW address            Mask     Device
10.1.0.50        0x1         0x2         52:54:00:AA:00:01     *        eth0
10.1.0.51        0x1         0x0         00:00:00:00:00:00     *        eth0
`,
  );
  expect(await macOfAddress('10.1.0.50', file)).toBe('52:54:00:aa:00:01');
  expect(await macOfAddress('::ffff:10.1.0.50', file)).toBe('52:54:00:aa:00:01');
  expect(await macOfAddress('10.1.0.51', file)).toBeUndefined();
  expect(await macOfAddress('10.1.0.5', file)).toBeUndefined();
  expect(await macOfAddress(undefined, file)).toBeUndefined();
  await rm(folder, { recursive: true });
});
