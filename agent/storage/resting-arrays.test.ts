import { expect, test } from 'vitest';
import { prepareDisks } from '#agent/erase/prepare-disks.ts';
import { addRestingArrays } from '#agent/storage/resting-arrays.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import { findUnmetEntries, protectedNames } from '#shared/disks/skip-list.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { readEraseOptions } from '#shared/in-band/erase-options.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

const uuid = '725d4de6:84e9294c:a148f1e4:4f2cf4d3';
const examined = `MD_LEVEL=raid1\nMD_DEVICES=2\nMD_NAME=any:0\nMD_UUID=${uuid}\nMD_METADATA=1.2\n`;
const volumes = 'MD_LEVEL=container\nMD_DEVICES=2\nMD_UUID=00112233:44556677:8899aabb:ccddeeff\n';

/** Disks of which mdadm says this, and `No md superblock` of all others. */
const machine = (said: Readonly<Record<string, string>>) => {
  const part = (name: string) => ({ name, number: 1, sizeBytes: 1024 });
  const devices = ['/dev/sda', '/dev/sdb', '/dev/sdc'].map((name) =>
    testDevice({ name, serial: name.slice(5), partitions: [part(`${name}1`)] }),
  );
  const run: Run = (command, args) => {
    const device = args.at(-1) ?? '';
    const stdout = said[device];
    if (command === 'mdadm' && stdout === undefined) {
      const stderr = `mdadm: No md superblock detected on ${device}.\n`;
      return Promise.resolve({ stdout: '', stderr, exitCode: 1, durationMs: 1 });
    }
    if (stdout === 'fails') return Promise.reject(new AppError('command_failed', `mdadm hangs on ${device}`));
    return Promise.resolve({ stdout: stdout ?? '', stderr: '', exitCode: 0, durationMs: 1 });
  };
  return { run, devices };
};
const skipping = (...entries: object[]) => ({ skip_block_devices: entries });
const mirror = { '/dev/sda1': examined, '/dev/sdb': examined };

test.each([
  [{ wwn: uuid }],
  [{ wwn: uuid.toUpperCase() }],
  [{ wwn: '725d4de6-84e9-294c-a148-f1e44f2cf4d3' }],
  [{ name: `/dev/disk/by-id/md-uuid-${uuid}` }],
  [{ name: '/dev/disk/by-id/md-name-any:0' }],
  [{ name: '/dev/md/0' }],
  [{ name: '/dev/md0' }],
  [{ name: `<or> /dev/sdx <or> /dev/disk/by-id/md-uuid-${uuid}` }],
])('members of an array that is not assembled are protected by its name: %j', async (entry) => {
  const { run, devices } = machine(mirror);
  const properties = skipping(entry);
  const list = await addRestingArrays(run, properties, devices);
  expect([...protectedNames(properties, list)]).toEqual(['/dev/sda', '/dev/sdb']);
  expect(findUnmetEntries(properties, list)).toEqual([]);
  expect(chooseRootDevice(list, { properties, instance_info: {} }).name).toBe('/dev/sdc');
});

test('no disk is erased that is a member of an array on the skip list', async () => {
  const { run, devices } = machine(mirror);
  const node = { uuid: 'n', properties: skipping({ wwn: uuid }), instance_info: {}, driver_internal_info: {} };
  const services = {
    log: silentLog,
    signal: new AbortController().signal,
    clock: createInstantClock(),
    reportProgress: () => undefined,
  };
  const disks = { list: () => Promise.resolve(devices), stopArraysOn: () => Promise.resolve() };
  const prepared = await prepareDisks({ ...services, run, node }, readEraseOptions(node), disks);
  expect(prepared.disks.map(({ name }) => name)).toEqual(['/dev/sdc']);
  expect(prepared.remarks).toMatchObject({ protection: [{ devices: ['/dev/sda', '/dev/sdb'] }], warnings: [] });
});

test.each([
  ['mdadm does not answer', { '/dev/sdb': 'fails' }, { wwn: uuid }, 'mdadm hangs on /dev/sdb'],
  ['its answer is of another kind', { '/dev/sdb': 'MD_LEVEL=raid1\n' }, { wwn: uuid }, 'mdadm says of /dev/sdb'],
  ['it is in a container', { '/dev/sdb': volumes }, { wwn: uuid }, 'volumes in the RAID container on /dev/sdb are not'],
  ['a number is its only name', mirror, { name: '/dev/md127' }, 'gets a number only as it is assembled'],
  ['its size counts too', mirror, { wwn: uuid, size: '> 5' }, 'is not known'],
])('where it is not known whether an array is meant, nothing goes on: %s', async (_case, said, entry, why) => {
  const { run, devices } = machine(said);
  const properties = skipping(entry);
  const list = await addRestingArrays(run, properties, devices);
  expect(() => protectedNames(properties, list)).toThrow(why);
});

test('an entry for another array, or for no array, protects none; mdadm is asked only for those', async () => {
  const { run, devices } = machine(mirror);
  const other = skipping({ wwn: '00000001:00000002:00000003:00000004' });
  const list = await addRestingArrays(run, other, devices);
  expect(protectedNames(other, list).size).toBe(0);
  expect(findUnmetEntries(other, list)).toEqual([expect.stringContaining('names no disk of this machine')]);
  const plain = skipping({ serial: 'sda' }, { wwn: '0x5000c500a1b20001' }, { name: '/dev/nvme0n1' });
  expect(await addRestingArrays(() => Promise.reject(new Error('asked')), plain, devices)).toBe(devices);
});

test('an array that is assembled answers for itself, its size included', async () => {
  const { run, devices } = machine(mirror);
  const array = testDevice({ name: '/dev/md127', type: 'raid1', wwns: [uuid], sizeBytes: 6 * 1024 ** 3 });
  const held = devices.map((each) => (each.name === '/dev/sdc' ? each : { ...each, holders: ['/dev/md127'] }));
  const properties = skipping({ wwn: uuid, size: '> 5' });
  const list = await addRestingArrays(run, properties, [...held, array]);
  expect([...protectedNames(properties, list)]).toEqual(['/dev/md127', '/dev/sda', '/dev/sdb']);
});

test('a root device hint never takes a member for its array', async () => {
  const { run, devices } = machine(mirror);
  const list = await addRestingArrays(run, skipping({ wwn: '1:2' }), devices);
  const node = { properties: { root_device: { wwn: uuid } }, instance_info: {} };
  expect(() => chooseRootDevice(list, node)).toThrow('no disk can be the root device');
});
