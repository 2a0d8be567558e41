import { expect, test } from 'vitest';
import { requireBootCode } from '#agent/image/disk/boot-code.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** A first sector with these words in its code, and one partition. */
function sector(words: string, { active = false, grubAt = 0 } = {}): Buffer {
  const head = Buffer.alloc(512);
  head.write(words, 0x180, 'latin1');
  if (words.includes('GRUB')) head.writeBigUInt64LE(BigInt(grubAt), 0x5c);
  head[446] = active ? 0x80 : 0;
  head[450] = 0x83;
  head.writeUInt16LE(0xaa55, 510);
  return head;
}

const grub = 'GRUB \0Geom\0Hard Disk\0Read\0 Error\r\n';
const look = (found: Buffer | undefined) => ({ look: async () => found });
const judge = (head: Buffer, found?: Buffer) => requireBootCode(head, look(found)).then(() => 'starts', errorChain);

test.each([
  ["GRUB's code with its core", sector(grub, { grubAt: 1 }), Buffer.alloc(512, 1)],
  ["GRUB's code whose core can't be looked at yet", sector(grub, { grubAt: 2048 }), undefined],
  ["GRUB's code whose core is behind the image's end", sector(grub, { grubAt: 2048 }), Buffer.alloc(0)],
  ["Windows' code with an active partition", sector('Missing operating system\0', { active: true }), undefined],
  ['code that is not known', sector('Loading...'), undefined],
])('%s may start', async (_, head, found) => {
  expect(await judge(head, found)).toBe('starts');
});

test.each([
  [
    'no code, as of an image for UEFI',
    sector(''),
    'has no boot code in its first sector, and the machine boots by BIOS',
  ],
  ['less than a sector', Buffer.from('x'), 'has no boot code'],
  ['no signature', Buffer.alloc(512, 1), 'has no boot code'],
  ["GRUB's code without its core", sector(grub, { grubAt: 34 }), 'which loads sector 34, and there is nothing there'],
  ['no active partition', sector('Missing operating system.\r\n'), 'no partition is marked active'],
])('%s is refused, with what helps', async (_, head, reason) => {
  const text = await judge(head, Buffer.alloc(512));
  expect(text).toContain(reason);
  expect(text).toContain('set capabilities boot_mode:uefi');
});
