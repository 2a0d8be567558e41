import { expect, test } from 'vitest';
import { type MachineDisks, prepareDisks } from '#agent/erase/prepare-disks.ts';
import { hdparmIdentify, securitySection } from '#agent/erase/testing/recorded-hdparm.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { readEraseOptions } from '#shared/in-band/erase-options.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

const prepare = (
  devices: readonly BlockDevice[],
  info: Record<string, unknown> = {},
  blkid = '',
  run: Run = (command) => Promise.resolve(ranWell(command === 'blkid' ? blkid : '')),
) => {
  const stopped: string[] = [];
  const machine: MachineDisks = {
    list: () => Promise.resolve(devices),
    stopArraysOn: (_run, disksOf) => Promise.resolve(stopped.push(...disksOf.map(({ name }) => name))),
  };
  const node = {
    uuid: 'n',
    properties: { skip_block_devices: [{ serial: 'KEEP' }] },
    instance_info: {},
    driver_internal_info: info,
  };
  const services = {
    log: silentLog,
    signal: new AbortController().signal,
    clock: createInstantClock(),
    reportProgress: () => undefined,
  };
  const prepared = prepareDisks({ ...services, run, node }, readEraseOptions(node), machine);
  return { prepared, stopped };
};

test('stops the arrays on the disks', async () => {
  const holders = ['/dev/md127'];
  const members = [testDevice({ name: '/dev/sda', holders }), testDevice({ name: '/dev/sdb', holders })];
  const { prepared, stopped } = prepare(members);
  expect((await prepared).disks).toHaveLength(2);
  expect(stopped).toEqual(['/dev/sda', '/dev/sdb']);
});

test('opens a disk that an erase left locked, before anything reads it', async () => {
  const commands: string[] = [];
  const run: Run = (command, args) => {
    commands.push([command, ...args].join(' '));
    const locked = hdparmIdentify(securitySection({ enabled: true, locked: true }));
    return Promise.resolve(ranWell(args[0] === '-I' ? locked : ''));
  };
  await prepare([testDevice({ name: '/dev/sda' })], {}, '', run).prepared;
  const unlocked = commands.findIndex((command) => command.includes('--security-unlock'));
  expect(unlocked).toBeGreaterThan(-1);
  expect(unlocked).toBeLessThan(commands.findIndex((command) => command.startsWith('blkid')));
});

test('an array that a disk to be kept is in stops it', async () => {
  const holders = ['/dev/md127'];
  const members = [
    testDevice({ name: '/dev/sda', holders }),
    testDevice({ name: '/dev/sdb', serial: 'KEEP', holders }),
  ];
  const { prepared, stopped } = prepare(members);
  await expect(prepared).rejects.toThrow('are both members of /dev/md127');
  expect(stopped).toEqual([]);
});

test('a disk that is skipped by its path is not touched by another', async () => {
  const commands: string[] = [];
  const run: Run = (command) => {
    commands.push(command);
    return Promise.resolve(ranWell());
  };
  const paths = [
    testDevice({ name: '/dev/sda', wwn: '0x5', serial: 'KEEP' }),
    testDevice({ name: '/dev/sdb', wwn: '0x5' }),
  ];
  const { prepared, stopped } = prepare(paths, {}, '', run);
  await expect(prepared).rejects.toThrow('/dev/sdb would be erased and is the same disk as /dev/sda (serial KEEP)');
  expect(stopped).toEqual([]);
  expect(commands.filter((command) => command !== 'udevadm')).toEqual([]);
});

test('a shared file system stops it, unless the operator says otherwise', async () => {
  const shared = [testDevice({ name: '/dev/sda' })];
  await expect(prepare(shared, {}, 'TYPE=gfs2\n').prepared).rejects.toThrow('/dev/sda holds GFS2');
  const { prepared } = prepare(shared, { wipe_special_filesystems: true }, 'TYPE=gfs2\n');
  expect((await prepared).disks).toHaveLength(1);
});

test('a disk on the skip list may hold one', async () => {
  const { prepared } = prepare([testDevice({ serial: 'KEEP' })], {}, 'TYPE=gfs2\n');
  expect(await prepared).toMatchObject({ disks: [], skipped: [{ reason: 'it is on the skip list' }] });
});
