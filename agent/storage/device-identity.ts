import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** What udev or, without it, the kernel's own files know of a disk's identity beyond lsblk. */
type Identity = Pick<
  BlockDevice,
  'model' | 'vendor' | 'serial' | 'wwn' | 'wwnWithExtension' | 'wwnVendorExtension' | 'byPath'
>;

/** Where the kernel shows its devices; other roots only in tests. */
export interface DeviceRoots {
  readonly sys: string;
  readonly dev: string;
}

export const systemRoots: DeviceRoots = { sys: '/sys', dev: '/dev' };

/** Fills the identity fields that lsblk left empty, from udev's database and then from /sys. */
export async function addIdentity(run: Run, device: BlockDevice, roots: DeviceRoots): Promise<BlockDevice> {
  const udev = parseUdevProperties(await readUdev(run, device.name));
  const sys = await readSysIdentity(device, roots);
  return {
    ...device,
    model: device.model ?? sys.model,
    vendor: device.vendor ?? udev.vendor ?? sys.vendor,
    serial: udev.serial ?? device.serial ?? sys.serial,
    wwn: udev.wwn ?? device.wwn ?? sys.wwn,
    wwnWithExtension: udev.wwnWithExtension ?? udev.wwn ?? device.wwn ?? sys.wwn,
    wwnVendorExtension: udev.wwnVendorExtension,
    byPath: udev.byPath ?? sys.byPath,
  };
}

/** Parses `udevadm info --query=property`. */
export function parseUdevProperties(stdout: string): Identity {
  const properties = new Map(
    stdout.split('\n').flatMap((line) => {
      const at = line.indexOf('=');
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1).trim()] as const] : [];
    }),
  );
  const get = (key: string): string | null => properties.get(key) || null;
  return {
    model: get('ID_MODEL'),
    vendor: get('ID_VENDOR'),
    serial: get('ID_SERIAL_SHORT') ?? get('ID_SCSI_SERIAL'),
    // software RAID: what stays the same while the names of md devices change
    wwn: get('ID_WWN') ?? get('MD_UUID'),
    wwnWithExtension: get('ID_WWN_WITH_EXTENSION'),
    wwnVendorExtension: get('ID_WWN_VENDOR_EXTENSION'),
    byPath: (get('DEVLINKS') ?? '').split(' ').find((link) => link.startsWith('/dev/disk/by-path/')) ?? null,
  };
}

async function readUdev(run: Run, name: string): Promise<string> {
  try {
    return (await run('udevadm', ['info', '--query=property', `--name=${name}`], { timeoutMs: 10_000 })).stdout;
  } catch (error) {
    // no udev in this ramdisk, or it does not know the device: /sys answers instead
    if (error instanceof AppError && error.code === 'command_failed') return '';
    throw error;
  }
}

async function readSysIdentity(device: BlockDevice, roots: DeviceRoots): Promise<Identity> {
  const folder = join(roots.sys, 'class/block', basename(device.name));
  const read = (...files: readonly string[]) => readFirst(files.map((file) => join(folder, file)));
  return {
    model: await read('device/model'),
    vendor: await read('device/vendor'),
    serial: await read('serial', 'device/serial'),
    wwn: await read('wwid', 'device/wwid'),
    wwnWithExtension: null,
    wwnVendorExtension: null,
    byPath: (await findByPathLink(device.name, roots)) ?? (await pathOfDevice(folder)),
  };
}

async function readFirst(files: readonly string[]): Promise<string | null> {
  for (const file of files) {
    // most drivers have only some of these files, and some answer with an error: then the next one is asked
    const text = await readFile(file, 'utf8').catch(() => '');
    if (text.trim() !== '') return text.trim();
  }
  return null;
}

async function findByPathLink(name: string, roots: DeviceRoots): Promise<string | null> {
  const folder = join(roots.dev, 'disk/by-path');
  for (const link of await readdir(folder).catch(() => [])) {
    // udev may remove a link between the two calls
    const target = await readlink(join(folder, link)).catch(() => '');
    if (basename(target) === basename(name)) return join('/dev/disk/by-path', link);
  }
  return null;
}

async function pathOfDevice(folder: string): Promise<string | null> {
  const path = await realpath(folder).catch(() => '');
  return byPathFromSysPath(path);
}

/**
 * The by-path name that udev's `path_id` gives to a disk on PCI, from its path below /sys/devices; `null` for buses
 * not covered here (virtio, NVMe, SATA and plain SCSI are).
 */
export function byPathFromSysPath(sysPath: string): string | null {
  const addresses = [...sysPath.matchAll(/\/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?=\/)/g)];
  const last = addresses.at(-1);
  if (last === undefined) return null;
  const rest = sysPath.slice(last.index + last[0].length);
  const prefix = `/dev/disk/by-path/pci-${last[1]}`;
  if (/^\/virtio\d+\/block\//.test(rest)) return prefix;
  const nvme = /^\/nvme\/nvme\d+\/nvme\d+n(\d+)$/.exec(rest);
  if (nvme) return `${prefix}-nvme-${nvme[1]}`;
  const ata = /^\/ata(\d+)\//.exec(rest);
  if (ata) return `${prefix}-ata-${ata[1]}`;
  const scsi = /\/host\d+\/target[\d:]+\/\d+:(\d+:\d+:\d+)\/block\//.exec(rest);
  return scsi ? `${prefix}-scsi-0:${scsi[1]}` : null;
}
