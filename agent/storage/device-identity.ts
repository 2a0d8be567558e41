import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isMissingProgram } from '#agent/storage/wait-for-udev.ts';
import { type Disk, isNoDisk } from '#shared/disks/disk.ts';
import { isPlaceholder, isPlaceholderWwn } from '#shared/disks/placeholders.ts';
import { isByPath } from '#shared/disks/root-device-hints.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';
import { retry } from '#shared/retry.ts';

/** Knowledge that one witness (lsblk, udev, the kernel's own files) has of a disk's identity. */
interface Identity {
  readonly model: string | null;
  readonly vendor: string | null;
  readonly wwnWithExtension: string | null;
  readonly wwnVendorExtension: string | null;
  /** Placeholders left out; the one to show first. */
  readonly serials: readonly string[];
  readonly wwns: readonly string[];
  /** Below `/dev/disk/by-path`, `/dev/disk/by-id` and, of arrays, `/dev/md`. */
  readonly links: readonly string[];
  /** The by-path name that udev itself takes the disk for. */
  readonly idPath: string | null;
}

/** Where the kernel shows its devices; other roots only in tests. */
export interface DeviceRoots {
  readonly sys: string;
  readonly dev: string;
}

export const systemRoots: DeviceRoots = { sys: '/sys', dev: '/dev' };

/**
 * Fills the identity that lsblk left empty, from udev's database and from /sys. All that any of them says counts as the
 * disk's; what is shown of it does not depend on an order, for udev prints links in another one each time.
 */
export async function addIdentity<Device extends Disk>(run: Run, device: Device, roots: DeviceRoots): Promise<Device> {
  const { properties, unread } = await readUdev(run, device.name);
  const udev = parseUdevProperties(properties);
  const sys = await readSysIdentity(device, roots);
  const lsblk = { serials: present(isPlaceholder, device.serial), wwns: present(isPlaceholderWwn, device.wwn) };
  const wwns = unique(udev.wwns, lsblk.wwns, sys.wwns);
  const serials = unique(udev.labels, lsblk.serials, udev.serials, sys.serials);
  const real = unique(udev.links, sys.links);
  const isNamed = saysNames.test(properties);
  // what udev would call it, only where no udev says it
  const links = (real.some(isByPath) || isNamed ? real : unique(real, sys.madeLinks)).sort();
  return {
    ...device,
    model: device.model ?? sys.model,
    vendor: device.vendor ?? udev.vendor ?? sys.vendor,
    serial: serials[0] ?? null,
    wwn: wwns[0] ?? null,
    wwnWithExtension: udev.wwnWithExtension ?? wwns[0] ?? null,
    wwnVendorExtension: udev.wwnVendorExtension,
    byPath: shownPath(links, udev.idPath),
    serials,
    wwns,
    links,
    unread,
    ...(isNamed || unread !== undefined || isNeverNamed(device)
      ? {}
      : { unnamed: `no udev rule has named ${device.name}` }),
  };
}

/** Recognizes a floppy, memory and files, which have no names of hardware (udev, 60-persistent-storage.rules). */
function isNeverNamed({ name, type }: Disk): boolean {
  return isNoDisk(name) || type === 'loop';
}

/** Properties that udev's rules give a device of their own; without them it has a number, or what is on it, at most. */
const saysNames = /^(DEVLINKS|MD_UUID|ID_(?!FS_|PART_)\w+)=/m;

/** Parses `udevadm info --query=property`. */
export function parseUdevProperties(stdout: string): Identity & { readonly labels: readonly string[] } {
  const properties = new Map(
    stdout.split('\n').flatMap((line) => {
      const at = line.indexOf('=');
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1).trim()] as const] : [];
    }),
  );
  const get = (key: string): string | null => properties.get(key) || null;
  const wwnWithExtension = present(isPlaceholderWwn, get('ID_WWN_WITH_EXTENSION'))[0] ?? null;
  // the label's; ID_SERIAL_SHORT of a SCSI disk is its WWN
  const labels = present(isPlaceholder, get('ID_SCSI_SERIAL'), get('SCSI_IDENT_SERIAL'));
  return {
    model: get('ID_MODEL'),
    vendor: get('ID_VENDOR'),
    labels,
    serials: unique(labels, present(isPlaceholder, get('ID_SERIAL_SHORT'), get('ID_SERIAL'))),
    // software RAID: what stays the same while the names of md devices change
    wwns: present(isPlaceholderWwn, get('ID_WWN') ?? get('MD_UUID'), wwnWithExtension),
    wwnWithExtension,
    wwnVendorExtension: get('ID_WWN_VENDOR_EXTENSION'),
    links: unique((get('DEVLINKS') ?? '').split(' ').filter(isHardwareLink)).sort(),
    idPath: get('ID_PATH'),
  };
}

/** Names by place and by identifier, and arrays' own; what is named after contents is a disk's last tenant's to choose. */
function isHardwareLink(link: string): boolean {
  return /^\/dev\/(disk\/by-(path|id)|md)\//.test(link) && !link.includes('/lvm-pv-uuid-');
}

function unique(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}

function present(isEmpty: (text: string) => boolean, ...texts: readonly (string | null)[]): string[] {
  return unique(texts.flatMap((text) => (text === null || isEmpty(text) ? [] : [text.trim()])));
}

/** One of several: udev's own, else the shortest, then the first of the alphabet. @param idPath udev's own */
function shownPath(links: readonly string[], idPath: string | null): string | null {
  const paths = links.filter(isByPath);
  const [shortest = null] = paths.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1));
  const own = `/dev/disk/by-path/${idPath}`;
  return paths.includes(own) ? own : shortest;
}

const udevTries = 3;

/** `unread`: udev is there and did not answer, so that what it knows is not known. */
async function readUdev(
  run: Run,
  name: string,
): Promise<{ readonly properties: string; readonly unread?: string | undefined }> {
  const ask = async (): Promise<string> => {
    const { stdout } = await run('udevadm', ['info', '--query=property', `--name=${name}`], { timeoutMs: 30_000 });
    if (!/^(USEC_INITIALIZED|DEVLINKS|ID_\w+)=/m.test(stdout)) {
      throw new AppError('storage_error', `udev has not looked at ${name} yet`);
    }
    return stdout;
  };
  try {
    // a machine under load answers late, and a device that comes back is not in its database for a moment
    const passes = (error: unknown): boolean => !isMissingProgram(error);
    return { properties: await retry(ask, { attempts: udevTries, passes, delayMs: () => 200 }) };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'aborted') throw error;
    // no udev in this ramdisk: /sys answers instead
    return { properties: '', ...(isMissingProgram(error) ? {} : { unread: error.message }) };
  }
}

/** `madeLinks`: such as udev would make, whether they are there or not. */
async function readSysIdentity(
  device: Disk,
  roots: DeviceRoots,
): Promise<
  Pick<Identity, 'model' | 'vendor' | 'serials' | 'wwns' | 'links'> & { readonly madeLinks: readonly string[] }
> {
  const folder = join(roots.sys, 'class/block', basename(device.name));
  const read = (...files: readonly string[]) => readAll(files.map((file) => join(folder, file)));
  const path = await realpath(folder).catch(() => '');
  return {
    model: (await read('device/model'))[0] ?? null,
    vendor: (await read('device/vendor'))[0] ?? null,
    serials: present(isPlaceholder, ...(await read('serial', 'device/serial'))),
    wwns: present(isPlaceholderWwn, ...(await read('wwid', 'device/wwid'))),
    links: await findByPathLinks(device.name, roots),
    madeLinks: byPathsFromSysPath(path, await readAtaPort(path)),
  };
}

/** The kernel counts ATA ports over all controllers, udev those of one. */
async function readAtaPort(sysPath: string): Promise<string | undefined> {
  const [folder, ata] = /^.*\/(ata\d+)(?=\/host)/.exec(sysPath) ?? [];
  if (folder === undefined || ata === undefined) return undefined;
  const [port] = await readAll([join(folder, 'ata_port', ata, 'port_no')]);
  return port;
}

async function readAll(files: readonly string[]): Promise<readonly string[]> {
  // most drivers have only some of these files, and some answer with an error
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return texts.map((text) => text.trim()).filter(Boolean);
}

async function findByPathLinks(name: string, roots: DeviceRoots): Promise<readonly string[]> {
  const folder = join(roots.dev, 'disk/by-path');
  const names = await readdir(folder).catch(() => []);
  const links = await Promise.all(
    // udev may remove a link between the two calls
    names.map(async (link) => ({ link, target: await readlink(join(folder, link)).catch(() => '') })),
  );
  return links
    .filter(({ target }) => basename(target) === basename(name))
    .map(({ link }) => join('/dev/disk/by-path', link));
}

/**
 * The by-path names that udev's `path_id` and rules give to a disk on PCI, its own first, from its path below
 * /sys/devices; none for buses not covered here (virtio, NVMe, SATA and plain SCSI are).
 * @param ataPort number of the ATA port on its controller
 */
export function byPathsFromSysPath(sysPath: string, ataPort?: string): readonly string[] {
  const addresses = [...sysPath.matchAll(/\/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?=\/)/g)];
  const last = addresses.at(-1);
  if (last === undefined) return [];
  const rest = sysPath.slice(last.index + last[0].length);
  return pathsOnPci(`pci-${last[1]}`, rest, ataPort).map((name) => `/dev/disk/by-path/${name}`);
}

function pathsOnPci(pci: string, rest: string, port: string | undefined): readonly string[] {
  if (/^\/virtio\d+\/block\//.test(rest)) return [pci, `virtio-${pci}`];
  const nvme = /^\/nvme\/nvme\d+\/nvme\d+n(\d+)$/.exec(rest);
  if (nvme) return [`${pci}-nvme-${nvme[1]}`];
  const ata = /^\/ata\d+\/host\d+\/target[\d:]+\/\d+:(\d+):(\d+):\d+\/block\//.exec(rest);
  if (ata) {
    const [, bus, target] = ata;
    if (port === undefined) return [];
    // the short name of before systemd 246 means the whole port, on which there may be several disks
    if (bus !== '0') return [`${pci}-ata-${port}.${bus}.0`];
    return target === '0' ? [`${pci}-ata-${port}.0`, `${pci}-ata-${port}`] : [`${pci}-ata-${port}.${target}`];
  }
  const scsi = /^(?:\/virtio\d+)?\/host\d+\/target[\d:]+\/\d+:(\d+:\d+:\d+)\/block\//.exec(rest);
  return scsi ? [`${pci}-scsi-0:${scsi[1]}`] : [];
}
