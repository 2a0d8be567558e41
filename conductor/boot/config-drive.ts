import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { makeConfigDriveImage } from '#conductor/boot/config-drive-image.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Bytes of the file system, the same as in the agent: it has to fit into one request, and into a small ramdisk's memory. */
const maxBytes = 32 * 1024 * 1024;

/** Ironic's dict; `null` counts as absent. Keys in the order in which faults are told. */
export const ConfigDriveDocuments = z.strictObject({
  meta_data: z.record(z.string(), z.unknown(), 'must be an object').nullish(),
  network_data: z.record(z.string(), z.unknown(), 'must be an object').nullish(),
  user_data: z
    .union(
      [z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())],
      'must be a string, or an object or list to be written as JSON',
    )
    .nullish(),
  vendor_data: z.record(z.string(), z.unknown(), 'must be an object').nullish(),
});

export interface ConfigDriveNode {
  readonly uuid: string;
  readonly name?: string | null;
  readonly instanceUuid?: string | null;
  /** Used where the dict has no `network_data`. */
  readonly networkData?: Readonly<Record<string, unknown>> | null;
}

/**
 * A config drive as the agent takes it: an http(s) URL as it was given, or base64(gzip(ISO9660 or FAT)), given or built
 * from Ironic's dict. The same dict gives the same bytes.
 * @throws AppError `invalid_argument` naming the field (`configdrive.meta_data …`) and what would be right;
 * `command_failed` when xorrisofs (Debian: xorriso) does not run.
 */
export async function buildConfigDrive(options: {
  readonly configDrive: unknown;
  readonly node: ConfigDriveNode;
  readonly run: Run;
}): Promise<string> {
  const { configDrive } = options;
  if (typeof configDrive === 'string') return checkConfigDrive(configDrive);
  const files = configDriveFiles(configDrive, options.node);
  const size = Object.values(files).reduce((sum, content) => sum + Buffer.byteLength(content), 0);
  if (size > maxBytes) throw bad(`its documents have ${size} bytes, and may have ${maxBytes}`);
  const iso = await makeConfigDriveImage(files, options.run);
  if (iso.length > maxBytes) throw bad(`it would have ${iso.length} bytes, and may have ${maxBytes}`);
  return gzipSync(iso).toString('base64');
}

/**
 * The files below `openstack/latest/` (cloud-init's config drive version 2): `meta_data.json` always, the others when
 * given. What `meta_data` lacks of uuid, name and hostname comes from the node.
 * @throws AppError `invalid_argument` listing every fault with its field.
 */
export function configDriveFiles(configDrive: unknown, node: ConfigDriveNode): Record<string, string> {
  const parsed = ConfigDriveDocuments.safeParse(configDrive);
  if (!parsed.success) throw new AppError('invalid_argument', parsed.error.issues.map(describeIssue).join('; '));
  const documents = parsed.data;
  const name = node.name ?? undefined;
  const metaData = {
    uuid: node.instanceUuid ?? node.uuid,
    ...(name === undefined ? {} : { name, hostname: hostnameFrom(name) }),
    ...documents.meta_data,
  };
  const networkData = documents.network_data ?? node.networkData ?? undefined;
  const { user_data: userData, vendor_data: vendorData } = documents;
  return {
    'meta_data.json': JSON.stringify(metaData),
    ...(networkData === undefined || Object.keys(networkData).length === 0
      ? {}
      : { 'network_data.json': JSON.stringify(networkData) }),
    ...(userData === undefined || userData === null
      ? {}
      : { user_data: typeof userData === 'string' ? userData : JSON.stringify(userData) }),
    ...(vendorData === undefined || vendorData === null ? {} : { 'vendor_data.json': JSON.stringify(vendorData) }),
  };
}

/**
 * A config drive given as a string, without blanks.
 * @throws AppError `invalid_argument` when it is neither an http(s) URL nor base64(gzip(ISO9660 or FAT)) of at most
 * 32 MiB, or its volume is not labelled `config-2`, by which cloud-init finds it.
 */
export function checkConfigDrive(configDrive: string): string {
  const right = 'it must be an http(s) URL, or base64 of a gzipped ISO 9660 or FAT image labelled config-2';
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(configDrive)) {
    if (/^https?:\/\/[^\s]+$/i.test(configDrive) && URL.canParse(configDrive)) return configDrive;
    throw bad(`URL ${JSON.stringify(configDrive.slice(0, 200))} can't be used: ${right}`);
  }
  const base64 = configDrive.replaceAll(/\s+/g, '');
  if (base64 === '') throw bad(`it is empty: ${right}`);
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw bad(`it is not base64: ${right}`);
  const image = gunzip(Buffer.from(base64, 'base64'), right);
  const label = isoLabel(image) ?? fatLabel(image);
  if (label === undefined) throw bad(`its content is neither ISO 9660 nor FAT: ${right}`);
  if (label.toLowerCase() !== 'config-2') throw bad(`its volume is labelled ${JSON.stringify(label)}: ${right}`);
  return base64;
}

function gunzip(bytes: Buffer, right: string): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) throw bad(`its content is not gzipped: ${right}`);
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    const tooLarge = cause instanceof RangeError;
    throw bad(tooLarge ? `it has more than ${maxBytes} bytes` : `its gzip data is damaged: ${right}`, cause);
  }
}

/** The volume id of the primary volume descriptor (ECMA-119 §8.4), in sector 16. */
function isoLabel(image: Buffer): string | undefined {
  if (image.length < 17 * 2048 || image.toString('latin1', 32_769, 32_774) !== 'CD001') return undefined;
  return image.toString('latin1', 32_808, 32_840).trim();
}

/** The volume label of the boot sector; its place depends on the kind of FAT. */
function fatLabel(image: Buffer): string | undefined {
  if (image.length < 512 || image.readUInt16LE(510) !== 0xaa55) return undefined;
  const place = [54, 82].find((offset) => image.toString('latin1', offset, offset + 3) === 'FAT');
  return place === undefined ? undefined : image.toString('latin1', place - 11, place).trim();
}

/** A node's name need not be a host name: metal3 writes `namespace~name`. */
function hostnameFrom(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9.-]+/g, '-').replaceAll(/^[-.]+|[-.]+$/g, '') || 'node';
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return `configdrive: it has unknown keys ${issue.keys.join(', ')}; keys are: ${Object.keys(ConfigDriveDocuments.shape).join(', ')}`;
  }
  const path = issue.path.join('.');
  return path === '' ? 'configdrive: must be a string or an object' : `configdrive.${path} ${issue.message}`;
}

function bad(why: string, cause?: unknown): AppError {
  return new AppError('invalid_argument', `configdrive: ${why}`, cause === undefined ? {} : { cause });
}
