import { describe, expect, test } from 'vitest';
import { reviveDisk } from '#agent/erase/prepare-disks.ts';
import { hdparmIdentify, securitySection } from '#agent/erase/testing/recorded-hdparm.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

const services = (run: Run, signal = new AbortController().signal) => {
  const phases: string[] = [];
  const clock = createInstantClock();
  return {
    run,
    clock,
    log: silentLog,
    signal,
    reportProgress: ({ phase }: { phase: string }) => phases.push(phase),
    phases,
  };
};

describe('an ATA disk', () => {
  /** Locked with `password`, as hdparm drives it. */
  const lockedDisk = (password: string) => {
    const now = { enabled: true, locked: true };
    const commands: string[] = [];
    const run: Run = (_command, args) => {
      commands.push(args.join(' '));
      const [, , action, word] = args;
      if (args[0] === '-I') return Promise.resolve(ranWell(hdparmIdentify(securitySection(now))));
      if (word !== password) return Promise.reject(new AppError('command_failed', 'SG_IO: bad/missing sense data'));
      if (action === '--security-unlock') now.locked = false;
      if (action === '--security-disable') now.enabled = false;
      return Promise.resolve(ranWell());
    };
    return { run, now, commands };
  };

  test.each(['NULL', ''])('locked by an erase that broke off is opened, with %j', async (password) => {
    const disk = lockedDisk(password);
    await reviveDisk(services(disk.run), testDevice({ name: '/dev/sda' }));
    expect(disk.now).toEqual({ enabled: false, locked: false });
  });

  test('with the password of somebody else stays as it is, and stops nothing', async () => {
    const disk = lockedDisk('hunter2');
    await reviveDisk(services(disk.run), testDevice({ name: '/dev/sda' }));
    expect(disk.now).toEqual({ enabled: true, locked: true });
  });
});

describe('an NVMe disk', () => {
  const controller = (...states: readonly string[]): Run => {
    const asked = [...states];
    return () => Promise.resolve(ranWell(`{"nvme0": {"sprog": 16384, "sstat": {"status": "${asked.shift()}"}}}`));
  };
  const disk = testDevice({ name: '/dev/nvme0n1' });

  test('that still sanitizes is waited for', async () => {
    const waiting = services(controller('(2) in progress', '(2) in progress', '(1) completed'));
    await reviveDisk(waiting, disk);
    expect(waiting.clock.sleeps).toHaveLength(2);
    expect(waiting.phases).toEqual(Array(2).fill('/dev/nvme0n1 still sanitizes: 25 %'));
  });

  test.each(['(0) never', '(3) failed'])('of the state %s is not', async (state) => {
    const ready = services(controller(state));
    await reviveDisk(ready, disk);
    expect(ready.clock.sleeps).toEqual([]);
  });

  test('without sanitize stops nothing; a stopped agent does not wait', async () => {
    const failing: Run = () => Promise.reject(new AppError('command_failed', 'Invalid Field in Command'));
    await reviveDisk(services(failing), disk);
    await expect(reviveDisk(services(failing, AbortSignal.abort()), disk)).rejects.toThrow('Invalid Field');
  });
});
