import { expect, test } from 'vitest';
import { subvolumeIn } from '#agent/storage/file-systems/mounted-subvolume.ts';

const mountInfo = `22 1 0:20 / / rw - ext4 /dev/vda1 rw
90 22 0:40 /@ /tmp/baton-mounts/mount-a ro,nosuid - btrfs /dev/vdb2 ro,subvolid=256,subvol=/@
91 22 254:2 / /tmp/baton-mounts/mount-b ro - xfs /dev/vdc ro
92 22 0:41 /root\\040of\\040all /tmp/baton-mounts/mount-c ro - btrfs /dev/vdd ro
93 22 0:41 /first /tmp/mount-d ro - btrfs /dev/vdd ro
94 22 0:41 /second /tmp/mount-d ro - btrfs /dev/vdd ro
`;

test.each([
  ['/tmp/baton-mounts/mount-a', '/@'],
  ['/tmp/baton-mounts/mount-b', ''],
  ['/tmp/baton-mounts/mount-c', '/root of all'],
  ['/tmp/mount-d', '/second'],
  ['/tmp/not-mounted', ''],
])('%s is of %j', (folder, subvolume) => expect(subvolumeIn(mountInfo, folder)).toBe(subvolume));
