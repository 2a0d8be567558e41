import { expect, test } from 'vitest';
import { chooseDisks } from '#agent/erase/choose-disks.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';

const never = (): boolean => false;

test('what is left alone is told with its reason', () => {
  const { disks, skipped } = chooseDisks(
    [
      testDevice({ name: '/dev/sda', serial: 'A' }),
      testDevice({ name: '/dev/sdb', serial: 'KEEP' }),
      testDevice({ name: '/dev/sdc', readOnly: true }),
      testDevice({ name: '/dev/sdd', tran: 'usb', vendor: 'AMI', model: 'Virtual HDisk0' }),
      testDevice({ name: '/dev/sde', partitions: [{ name: '/dev/sde1', number: 1, sizeBytes: 1 }] }),
      testDevice({ name: '/dev/sdf', removable: true }),
      testDevice({ name: '/dev/sdh', tran: 'usb', removable: true, vendor: 'SanDisk', model: 'Ultra' }),
      testDevice({ name: '/dev/sdi', tran: 'usb', removable: true, vendor: 'Linux', model: 'File-Stor Gadget' }),
      testDevice({ name: '/dev/sr0', type: 'rom' }),
      testDevice({ name: '/dev/md0', type: 'raid1' }),
      testDevice({ name: '/dev/ram0' }),
      testDevice({ name: '/dev/sdg', sizeBytes: 0 }),
    ],
    ({ serial }) => serial === 'KEEP',
    { skipReadOnly: true, labels: new Map([['/dev/sde1', 'IR-VFD-DEV']]) },
  );
  expect(disks.map(({ name }) => name)).toEqual(['/dev/sda', '/dev/sdf', '/dev/sdh']);
  expect(skipped).toMatchObject([
    { device: '/dev/sdb', serial: 'KEEP', reason: 'it is on the skip list' },
    { device: '/dev/sdc', serial: null, reason: 'it is read-only' },
    { device: '/dev/sdd', serial: null, reason: "it is the BMC's virtual media" },
    { device: '/dev/sde', serial: null, reason: "it is the BMC's virtual media" },
    { device: '/dev/sdi', serial: null, reason: "it is the BMC's virtual media" },
  ]);
});

test('a read-only disk stops it where the operator wants none left out', () => {
  const locked = testDevice({ name: '/dev/sda', serial: 'A', readOnly: true });
  expect(() => chooseDisks([locked], never, { skipReadOnly: false })).toThrow(
    /^\/dev\/sda \(serial A\) is read-only and can't be erased: agent_erase_skip_read_only/,
  );
  expect(chooseDisks([locked], () => true, { skipReadOnly: false }).disks).toEqual([]);
});
