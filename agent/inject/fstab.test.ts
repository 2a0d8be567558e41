import { expect, test } from 'vitest';
import { findMountOver, parseFstab, tagOf } from '#agent/inject/fstab.ts';

const text = `# /etc/fstab: static file system information.
UUID=a  /  btrfs  defaults,subvol=@ 0 1
UUID=a  /home/ btrfs defaults,subvol=@home 0 2
UUID="b" /boot ext4 defaults 0 2
UUID=c /boot/efi vfat umask=0077
UUID=d /data\\040of\\040x ext4 ro
/dev/sdb1 /mnt auto noauto
/dev/sdc1 /auto auto noauto,x-systemd.automount
UUID=e none swap sw
UUID=f /home xfs
 #UUID=g /opt ext4
`;

test.each([
  ['/home/a', 'UUID=f'],
  ['/home', 'UUID=f'],
  ['/homes/a', undefined],
  ['/boot/efi/x', 'UUID=c'],
  ['/boot/efis', 'UUID=b'],
  ['/data of x/y', 'UUID=d'],
  ['/mnt/x', undefined],
  ['/auto/x', '/dev/sdc1'],
  ['/opt/x', undefined],
  ['/etc/x', undefined],
])('%s is hidden by %s', (path, source) => {
  expect(findMountOver(parseFstab(text), path)?.source).toBe(source);
});

test('an image may have any number of lines', () => {
  const many = `${'UUID=x / ext4\n/dev/y /home ext4\n'.repeat(300_000)}UUID=last /home ext4`;
  expect(findMountOver(parseFstab(many), '/home/a')?.source).toBe('UUID=last');
});

test.each([
  ['UUID=x', { tag: 'UUID', value: 'x' }],
  ['PARTLABEL=my home', { tag: 'PARTLABEL', value: 'my home' }],
  ['/dev/disk/by-partuuid/x', { tag: 'PARTUUID', value: 'x' }],
  ['/dev/sda2', undefined],
  ['tmpfs', undefined],
  ['ID=x', undefined],
])('%s', (source, tag) => {
  expect(tagOf(source)).toEqual(tag);
});
