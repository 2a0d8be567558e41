import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { burnInDisks } from '#agent/burnin/burn-in-disks.ts';
import type { AgentContext } from '#agent/context.ts';
import { eraseAllDisks } from '#agent/erase/erase-disks.ts';
import { eraseAllDisksFast, eraseAllMetadata } from '#agent/erase/erase-disks-fast.ts';
import { type MachineDisks, machineDisks } from '#agent/erase/prepare-disks.ts';
import { runLsblk } from '#agent/storage/lsblk.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import type { Progress } from '#shared/wire/progress.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';

/** The erase steps on real block devices (loop), with the tools of the ramdisk; needs root. */

const mib = 1024 * 1024;
const diskBytes = 64 * mib;
const secret = 'the tenant before kept this here';
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-erase-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A disk with a GPT, a file system with a label, and a text that must not be found afterwards. */
async function withUsedDisk(use: (device: string, file: string) => Promise<void>): Promise<void> {
  const file = join(folder, 'disk');
  await withLoopDevice(file, diskBytes, async (device) => {
    await run('sgdisk', ['--new', '1:2048:+16M', '--change-name', '1:root', device]);
    await run('partprobe', [device], { okExitCodes: [0, 1] });
    await run('mkfs.ext4', ['-q', '-F', '-L', 'old', `${device}p1`]);
    const handle = await open(device, 'r+');
    for (const at of [2 * mib, 30 * mib, diskBytes - 4096])
      await handle.write(Buffer.from(secret), 0, secret.length, at);
    await handle.sync();
    await handle.close();
    expect(await finds(device, secret)).toBe(true);
    await use(device, file);
  });
}

async function finds(device: string, text: string): Promise<boolean> {
  await run('blockdev', ['--flushbufs', device]);
  let tail = '';
  for await (const chunk of createReadStream(device, { highWaterMark: 4 * mib, encoding: 'latin1' })) {
    if (`${tail}${String(chunk)}`.includes(text)) return true;
    tail = String(chunk).slice(-text.length);
  }
  return false;
}

function contextFor(settings: Record<string, unknown> = {}): AgentContext & { readonly progress: Progress[] } {
  const progress: Progress[] = [];
  return {
    run,
    clock: systemClock,
    log: silentLog,
    signal: new AbortController().signal,
    node: { uuid: 'n', properties: {}, instance_info: {}, driver_internal_info: settings },
    reportProgress: (each) => progress.push(each),
    writtenImage: { current: undefined },
    progress,
  };
}

/** Loop devices are not disks to the agent: here they pass for some, with a serial. */
const only = (device: string): MachineDisks => ({
  ...machineDisks,
  // this host's controllers say nothing of the test
  undrivenStorage: () => Promise.resolve([]),
  list: async () => (await runLsblk(run, [device])).map((each) => ({ ...each, type: 'disk', serial: 'LOOP-1' })),
});

describe('erase_devices', () => {
  test('discards where the disk then reads as zeros', () =>
    withUsedDisk(async (device) => {
      const context = contextFor();
      const { erased, skipped } = await eraseAllDisks(context, only(device));
      expect(skipped).toEqual([]);
      expect(erased).toMatchObject([
        { device, serial: 'LOOP-1', method: 'discard', bytes: diskBytes, proof: { canaries: 64, reads: 'zeros' } },
      ]);
      expect(await finds(device, secret)).toBe(false);
      expect(context.progress.at(-1)).toMatchObject({ done_bytes: diskBytes, total_bytes: diskBytes });
    }));

  test.each([
    [{ agent_erase_devices_iterations: 2, agent_erase_devices_zeroize: true }, 'zeros'],
    [{ agent_erase_devices_iterations: 2, agent_erase_devices_zeroize: false }, 'changed'],
  ])('overwrites with %j', (settings, reads) =>
    withUsedDisk(async (device) => {
      const context = contextFor(settings);
      const { erased } = await eraseAllDisks(context, only(device));
      expect(erased).toMatchObject([{ method: 'overwrite', proof: { reads } }]);
      expect(await finds(device, secret)).toBe(false);
      const passes = settings.agent_erase_devices_zeroize ? 3 : 2;
      expect(Math.max(...context.progress.map((each) => each.total_bytes ?? 0))).toBe(passes * diskBytes);
    }),
  );

  test('can be repeated', () =>
    withUsedDisk(async (device) => {
      await eraseAllDisks(contextFor(), only(device));
      expect((await eraseAllDisks(contextFor(), only(device))).erased).toHaveLength(1);
    }));

  test('a discard that does nothing is found out, and the disk overwritten', () =>
    withUsedDisk(async (device) => {
      const lazy: AgentContext = {
        ...contextFor(),
        run: (command, args, options) =>
          command === 'blkdiscard' ? run('true', [], options) : run(command, args, options),
      };
      const { erased } = await eraseAllDisks(lazy, only(device));
      expect(erased).toMatchObject([
        {
          method: 'overwrite',
          proof: { reads: 'zeros' },
          tried: [expect.stringMatching(/^discard: .* still has at byte/)],
        },
      ]);
      expect(await finds(device, secret)).toBe(false);
    }));

  test('a disk in use is refused before it is touched', () =>
    withUsedDisk(async (device) => {
      const mountPoint = await mkdtemp(join(folder, 'mount-'));
      await run('mount', [`${device}p1`, mountPoint]);
      try {
        await expect(eraseAllDisks(contextFor(), only(device))).rejects.toThrow(
          `${device} (serial LOOP-1) is in use: mounted on ${mountPoint}`,
        );
      } finally {
        await run('umount', [mountPoint]);
      }
      expect(await finds(device, secret)).toBe(true);
    }));

  test('stops with the agent', () =>
    withUsedDisk(async (device) => {
      const stop = new AbortController();
      const context: AgentContext = {
        ...contextFor({ agent_erase_devices_iterations: 3 }),
        signal: stop.signal,
        reportProgress: ({ done_bytes: done = 0 }) => (done > 8 * mib ? stop.abort() : undefined),
      };
      await expect(eraseAllDisks(context, only(device))).rejects.toMatchObject({
        code: 'aborted',
        message: expect.stringMatching(/overwriting .* was stopped/),
      });
    }));
});

test('erase_devices_express discards', () =>
  withUsedDisk(async (device) => {
    const { erased } = await eraseAllDisksFast(contextFor(), only(device));
    expect(erased).toMatchObject([{ method: 'discard', proof: { reads: 'zeros' } }]);
    expect(await finds(device, secret)).toBe(false);
  }));

test('erase_devices_metadata leaves the data, and nothing that is recognised', () =>
  withUsedDisk(async (device) => {
    expect(await eraseAllMetadata(contextFor(), only(device))).toEqual({
      erased: [device],
      skipped: [],
      protection: [],
      warnings: [],
    });
    expect((await run('blkid', ['--probe', device], { okExitCodes: [2] })).stdout).toBe('');
    expect(await finds(device, secret)).toBe(true);
  }));

test('burnin_disk writes and compares', () =>
  withUsedDisk(async (device) => {
    const settings = { loops: 2, seconds: 0, smartTest: false };
    const { tested } = await burnInDisks(contextFor(), settings, only(device));
    expect(tested).toMatchObject([
      { device, serial: 'LOOP-1', loops: 2, bytes: 2 * diskBytes, smart: 'not asked for' },
    ]);
    expect(await finds(device, secret)).toBe(false);
  }));
