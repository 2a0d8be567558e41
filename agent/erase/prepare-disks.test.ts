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
  undriven: readonly string[] | null = [],
) => {
  const stopped: string[] = [];
  const machine: MachineDisks = {
    list: () => Promise.resolve(devices),
    undrivenStorage: () => Promise.resolve(undriven),
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

test('what each entry of the skip list protects is told, and one that names nothing is a warning', async () => {
  const undriven = ['SD Host controller 0000:00:12.0 has no driver'];
  const other = await prepare([testDevice({ name: '/dev/sda', serial: 'OTHER' })], {}, '', undefined, undriven)
    .prepared;
  expect(other.remarks).toEqual({
    protection: [{ entry: 'properties.skip_block_devices[0] {"serial":"KEEP"}', devices: [] }],
    warnings: [
      expect.stringContaining('properties.skip_block_devices[0] {"serial":"KEEP"} names no disk of this machine'),
      expect.stringContaining('SD Host controller 0000:00:12.0'),
    ],
  });
  const found = await prepare([testDevice({ name: '/dev/sda', serials: ['A', 'KEEP'] })]).prepared;
  expect(found.remarks).toMatchObject({ protection: [{ devices: ['/dev/sda'] }], warnings: [] });
  expect(found.disks).toEqual([]);
});

test('where the PCI devices can not be listed, that is a warning too', async () => {
  const { remarks } = await prepare([testDevice({ serial: 'KEEP' })], {}, '', undefined, null).prepared;
  expect(remarks.warnings).toEqual([expect.stringContaining('could not be listed')]);
});

test('a disk that could not be read, and may be on the skip list, stops it before anything is touched', async () => {
  const commands: string[] = [];
  const run: Run = (command) => {
    commands.push(command);
    return Promise.resolve(ranWell());
  };
  const unread = testDevice({ name: '/dev/sdb', unread: 'udevadm info took longer than 30000 ms' });
  const { prepared, stopped } = prepare([testDevice({ name: '/dev/sda', serial: 'KEEP' }), unread], {}, '', run);
  await expect(prepared).rejects.toThrow('{"serial":"KEEP"} names /dev/sdb is not known (udevadm info took longer');
  expect(stopped).toEqual([]);
  expect(commands.filter((command) => command !== 'udevadm')).toEqual([]);
});

test('an entry for a volume protects its members', async () => {
  const holders = ['/dev/md0'];
  const { prepared, stopped } = prepare([
    testDevice({ name: '/dev/sda', holders }),
    testDevice({ name: '/dev/sdb' }),
    testDevice({ name: '/dev/md0', type: 'raid1', serial: 'KEEP' }),
  ]);
  expect((await prepared).disks.map(({ name }) => name)).toEqual(['/dev/sdb']);
  expect(stopped).toEqual(['/dev/sdb']);
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
