import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { predictMedium } from '#conductor/boot/boot-medium.ts';
import { makeBootMediumDirectory } from '#test/support/boot-medium-directory.ts';

const digest = (text: string) => createHash('sha256').update(text).digest('hex');
const measured = {
  programs: [{ name: 'shim', sha256: digest('shim') }],
  kernel: digest('kernel'),
  events: [
    { text: '[ -e ({device})/boot/grub ]' },
    { text: 'linuxefi /vmlinuz {parameters}' },
    { file: 'node.cfg' },
    { file: 'secrets.img' },
    { file: 'initrd.img', sha256: digest('initrd') },
  ],
};
let directory = '';
beforeAll(async () => {
  directory = await makeBootMediumDirectory();
  const file = join(directory, 'boot-medium.json');
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), measured }));
});
afterAll(() => rm(directory, { recursive: true }));

const first = { parameters: 'BOOTIF=52:54:00:00:00:01', secrets: ['ipa-agent-token=x'] };
const second = { parameters: 'BOOTIF=52:54:00:00:00:02', secrets: [] };

test('whichever drive GRUB was loaded from is as served', async () => {
  const [device, command] = (await predictMedium(directory, [first]))?.events ?? [];
  for (const name of ['cd', 'cd0', 'cd1', 'hd3'])
    expect(device?.digests).toContain(digest(`[ -e (${name})/boot/grub ]`));
  expect(device?.digests).not.toContain(digest('[ -e (hd0,gpt1)/boot/grub ]'));
  expect(command?.digests).toEqual([digest(`linuxefi /vmlinuz ${first.parameters}`)]);
});

test('each card that may have loaded it has its own parameters', async () => {
  const both = await predictMedium(directory, [first, second]);
  const each = [await predictMedium(directory, [first]), await predictMedium(directory, [second])];
  expect(both?.events.map(({ digests }) => digests)).toEqual(
    measured.events.map((_, index) => each.flatMap((one) => one?.events[index]?.digests)),
  );
  const [, command, , secrets] = both?.events ?? [];
  expect(command?.digests).toContain(digest(`linuxefi /vmlinuz ${second.parameters}`));
  expect(new Set(secrets?.digests).size).toBe(2);
});

test('parameters whose quotes GRUB writes otherwise are not predicted', async () => {
  expect(await predictMedium(directory, [first, { parameters: 'x="y z"', secrets: [] }])).toBeUndefined();
});
