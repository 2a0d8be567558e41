import type { Disk } from '#shared/disks/disk.ts';

/** No image that a BMC plugs in is larger, and hardly any disk that holds data is smaller. */
const largestVirtualMedium = 64 * 1024 ** 3;

/**
 * Whether a BMC has plugged it in, and it is none of the machine's own disks: pure. Such call themselves so: "AMI Virtual
 * HDisk0", "iDRAC Virtual Floppy", "Linux File-Stor Gadget". Labels and other contents must not count: tenants write those.
 */
export function isVirtualMedium(disk: Pick<Disk, 'tran' | 'vendor' | 'model' | 'sizeBytes'>): boolean {
  const name = `${disk.vendor ?? ''} ${disk.model ?? ''}`;
  return disk.tran === 'usb' && disk.sizeBytes <= largestVirtualMedium && /virtual|file-stor gadget/i.test(name);
}
