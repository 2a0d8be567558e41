import type { KnownDisk } from '#conductor/model/known-disk.ts';
import { mismatches, parseHints } from '#shared/disks/root-device-hints.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { DiskIdentity, OsDisk } from '#shared/wire/erase-result.ts';

/**
 * The disk, or the disks of the array, that an image was written to: pure. `undefined` = the inventory does not tell of
 * which disks the device is made.
 * @param device as the agent named it in the boot that the inventory is of, `/dev/sda`, `/dev/md0`
 */
export function osDiskOf(disks: readonly KnownDisk[], device: string): OsDisk | undefined {
  const written = disks.find(({ name }) => name === device);
  if (!written) return undefined;
  if (written.type === 'disk') return { disks: [identify(written)], array_uuid: null };
  // ironic-python-agent does not tell what a volume is made of, and without its UUID it is not known again
  const members = disks.filter(({ type, holders }) => type === 'disk' && holders.includes(device));
  return members.length > 0 && written.wwn !== null
    ? { disks: members.map(identify), array_uuid: written.wwn }
    : undefined;
}

function identify(disk: KnownDisk): DiskIdentity {
  return {
    name: disk.name,
    serial: disk.serial,
    wwn: disk.wwn,
    wwn_with_extension: disk.wwnWithExtension,
    wwn_vendor_extension: disk.wwnVendorExtension,
    model: disk.model,
    by_path: disk.byPath,
    size: disk.sizeBytes === 0 ? null : disk.sizeBytes,
  };
}

/** Device in what Ironic's and our agent answer a write with: `image (demo) written to device /dev/sda root_uuid=…`. */
export function writtenDevice(output: unknown): string | undefined {
  return typeof output === 'string'
    ? /\bon device (\/\S+)|\bto device (\/\S+)/.exec(output)?.slice(1).find(Boolean)
    : undefined;
}

/**
 * The disk that `properties.root_device` names for a node of which none was recorded. A hint like a size or "the first"
 * names none: what it chooses depends on what the disks have become.
 * @throws AppError `storage_error` saying why no disk is named; `invalid_argument` for bad hints
 */
export function osDiskByHints(disks: readonly KnownDisk[], properties: Readonly<Record<string, unknown>>): OsDisk {
  const none =
    'no deploy has recorded the disk of the operating system (the node was adopted, or deployed by an older release)';
  const hints = properties['root_device'];
  const wanted = typeof hints === 'object' && hints !== null ? (hints as Readonly<Record<string, unknown>>) : {};
  const identities = ['serial', 'wwn', 'wwn_with_extension'].flatMap((key) => plainText(wanted[key]) ?? []);
  if (identities.length === 0) {
    throw refusal(`${none}, and properties.root_device names none by serial or wwn`);
  }
  const tests = parseHints(wanted, 'properties.root_device');
  const matching = disks.filter((disk) => mismatches(disk, tests).length === 0);
  const [disk] = matching;
  const found = disk && matching.length === 1 ? osDiskOf(disks, disk.name) : undefined;
  if (found) return found;
  const named = matching.length === 0 ? 'no disk of this machine' : matching.map(({ name }) => name).join(', ');
  throw refusal(`${none}, and properties.root_device names ${named}`);
}

/** A hint that names one value: `abc`, `s== abc`. */
function plainText(hint: unknown): string | undefined {
  if (typeof hint !== 'string') return undefined;
  const text = hint.replace(/^\s*s==\s*/, '').trim();
  return text === '' || /^(<|s[!<>=])/.test(text) ? undefined : text;
}

function refusal(why: string): AppError {
  return new AppError(
    'storage_error',
    `${why}: local storage can't be preserved; nothing was touched. Set {"serial": …} or {"wwn": …} of the operating ` +
      "system's disk in properties.root_device, or wipe without preserving it",
  );
}
