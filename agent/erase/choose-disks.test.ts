import { expect, test } from 'vitest';
import { chooseDisks } from '#agent/erase/choose-disks.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';

const never = (): boolean => false;

test('the boot areas of an eMMC are no disks, though they are listed and write-protected', () => {
  const names = ['mmcblk0', 'mmcblk0boot0', 'mmcblk0boot1', 'mmcblk0rpmb', 'mmcblk0gp0'];
  const listed = names.map((name) => testDevice({ name: `/dev/${name}`, readOnly: name.includes('boot') }));
  const { disks, skipped } = chooseDisks(listed, () => false, { skipReadOnly: false });
  expect([disks.map(({ name }) => name), skipped]).toEqual([['/dev/mmcblk0', '/dev/mmcblk0gp0'], []]);
});

test('what is left alone is told with its reason', () => {
  const { disks, skipped } = chooseDisks(
    [
      testDevice({ name: '/dev/sda', serial: 'A' }),
      testDevice({ name: '/dev/sdb', serial: 'KEEP' }),
      testDevice({ name: '/dev/sdc', readOnly: true }),
      testDevice({ name: '/dev/sdd', tran: 'usb', vendor: 'AMI', model: 'Virtual HDisk0' }),
      // a disk's own firmware may say anything, but not plug in terabytes
      testDevice({ name: '/dev/sde', tran: 'usb', model: 'Virtual', sizeBytes: 8e12 }),
      testDevice({ name: '/dev/sdf', removable: true }),
      testDevice({ name: '/dev/sdh', tran: 'usb', removable: true, vendor: 'SanDisk', model: 'Ultra' }),
      testDevice({ name: '/dev/sdi', tran: 'usb', removable: true, vendor: 'Linux', model: 'File-Stor Gadget' }),
      testDevice({ name: '/dev/sr0', type: 'rom' }),
      testDevice({ name: '/dev/md0', type: 'raid1' }),
      testDevice({ name: '/dev/ram0' }),
      testDevice({ name: '/dev/sdg', sizeBytes: 0, removable: true, tran: 'usb' }),
      testDevice({ name: '/dev/sdj', sizeBytes: 0, tran: 'usb', vendor: 'AMI', model: 'Virtual HDisk0' }),
    ],
    ({ serial }) => serial === 'KEEP',
    { skipReadOnly: true },
  );
  expect(disks.map(({ name }) => name)).toEqual(['/dev/sda', '/dev/sde', '/dev/sdf', '/dev/sdh']);
  expect(skipped).toMatchObject([
    { device: '/dev/sdb', serial: 'KEEP', reason: 'it is on the skip list' },
    { device: '/dev/sdc', serial: null, reason: 'it is read-only' },
    { device: '/dev/sdd', serial: null, reason: "it is the BMC's virtual media" },
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

test('a disk without capacity may hold data: it stops it where all is to go', () => {
  const dead = testDevice({ name: '/dev/sdb', serial: 'DEAD', tran: 'sata', sizeBytes: 0, removable: true });
  const locked = testDevice({ name: '/dev/nvme0n1', serial: 'LOCKED', tran: 'nvme', sizeBytes: 0 });
  const choose = (isSkipped: Parameters<typeof chooseDisks>[1] = never, skipUnusable = false) =>
    chooseDisks([testDevice(), dead, locked], isSkipped, { skipReadOnly: true, skipUnusable });
  expect(() => choose()).toThrow(
    /^\/dev\/sdb \(serial DEAD\) has no capacity.*: pull it, or put it on .*; \/dev\/nvme0n1 \(serial LOCKED\) has/,
  );
  expect(choose(({ serial }) => serial !== null).skipped).toMatchObject([
    { device: '/dev/sdb', reason: 'it is on the skip list' },
    { device: '/dev/nvme0n1', reason: 'it is on the skip list' },
  ]);
  expect(choose(never, true)).toMatchObject({
    disks: [{ name: '/dev/vda' }],
    skipped: [{ device: '/dev/sdb', reason: 'it shows no capacity, being broken or locked' }, { serial: 'LOCKED' }],
  });
});

test('so does an NVMe namespace that has no device here', () => {
  const nvmeSubsystem = 'nqn.a';
  const hidden = testDevice({ name: '/dev/nvme0-nsid5', serial: 'S', sizeBytes: 0, nvmeSubsystem, isDetached: true });
  expect(() => chooseDisks([testDevice(), hidden], never, { skipReadOnly: true })).toThrow(
    /^\/dev\/nvme0-nsid5 \(serial S\) is an NVMe namespace with no device in this machine/,
  );
  const { skipped } = chooseDisks([hidden], ({ name }) => name === '/dev/nvme0-nsid5', { skipReadOnly: true });
  expect(skipped).toMatchObject([{ device: '/dev/nvme0-nsid5', reason: 'it is on the skip list' }]);
});
