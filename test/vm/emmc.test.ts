import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { type BareMachine, bootBareMachine } from '#test/support/bare-machine.ts';

/**
 * A machine with an eMMC and its boot areas, which only newer QEMUs have (11.1 of Debian's trixie-backports; not Debian 12's
 * 7.2, nor 10.0): with such a one in PATH as `qemu-system-x86_64`.
 */

const mib = 1024 * 1024;
const mark = 'precious';
const { stdout: options } = await run('qemu-system-x86_64', ['-device', 'emmc,help'], { okExitCodes: [0, 1] });
/** It came with the release in which the device can be plugged in; before, boards alone had it. */
const hasEmmc = options.includes('auth-key=');

describe.skipIf(!hasEmmc)(
  `an eMMC (${hasEmmc ? 'of this QEMU' : 'skipped: this QEMU has none that can be plugged in'})`,
  () => {
    let folder = '';
    let machine: BareMachine | undefined;
    const file = (name: string): string => join(folder, `${name}.raw`);
    const started = (): BareMachine => {
      if (machine === undefined) throw new Error('the machine has not started');
      return machine;
    };

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'baton-vm-emmc-'));
      // QEMU keeps the two boot areas before the user's
      await writeFile(file('emmc'), Buffer.alloc(66 * mib));
      await writeFile(file('virtio'), Buffer.alloc(64 * mib));
      const disks = [
        { name: 'emmc', device: `emmc,boot-partition-size=${mib}`, file: file('emmc') },
        { name: 'virtio', device: 'virtio-blk-pci,serial=VIRTIO-1,addr=0x12', file: file('virtio') },
      ];
      machine = await bootBareMachine(folder, disks, {}, ['sdhci-pci,id=sdhci0,addr=0x14']);
    });
    afterAll(async () => {
      await machine?.kill();
      await rm(folder, { recursive: true, force: true });
    });

    async function markAt(name: string, at: number): Promise<void> {
      await using handle = await open(file(name), 'r+');
      await handle.write(Buffer.from(mark), 0, mark.length, at);
    }
    const isMarked = async (from: number, to: number): Promise<boolean> =>
      (await readFile(file('emmc'))).subarray(from, to).includes(mark);

    test('is one disk: kept where it is protected, erased where not, but for its boot areas', async () => {
      const { disks } = await started().inventory();
      const found = disks as readonly { readonly name: string; readonly serial: string }[];
      expect(new Set(found.map(({ name }) => name))).toEqual(new Set(['/dev/mmcblk0', '/dev/vda']));
      const serial = found.flatMap((disk) => (disk.name === '/dev/mmcblk0' ? [disk.serial] : [])).join();
      await markAt('emmc', 4096);
      await markAt('emmc', 2 * mib + 4096);
      const properties = { skip_block_devices: [{ serial }] };
      expect(await started().clean('erase_devices_metadata', { properties })).toMatchObject({ erased: ['/dev/vda'] });
      expect(await isMarked(2 * mib, 66 * mib)).toBe(true);
      expect(await started().clean('erase_devices_metadata')).toMatchObject({ erased: ['/dev/mmcblk0', '/dev/vda'] });
      expect(await isMarked(2 * mib, 66 * mib)).toBe(false);
      expect(await isMarked(0, 2 * mib)).toBe(true);
    });
  },
);
