import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { firstIssues } from '#shared/errors/describe-issues.ts';
import type { Run } from '#shared/process/run.ts';

const gunzipApart = promisify(gunzip);

/** Bytes of the file system, the same as in the agent: it has to fit into one request, and into a small ramdisk's memory. */
const maxBytes = 32 * 1024 * 1024;

/** Ironic's dict; `null` counts as absent. Keys in the order in which faults are reported. */
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
  if (!parsed.success)
    throw new AppError('invalid_argument', firstIssues(parsed.error.issues, describeIssue).join('; '));
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
export async function checkConfigDrive(configDrive: string): Promise<string> {
  const right = 'it must be an http(s) URL, or base64 of a gzipped ISO 9660 or FAT image labelled config-2';
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(configDrive)) {
    if (/^https?:\/\/[^\s]+$/i.test(configDrive) && URL.canParse(configDrive)) return configDrive;
    throw bad(`URL ${JSON.stringify(configDrive.slice(0, 200))} can't be used: ${right}`);
  }
  const base64 = (await inSlices(configDrive, (slice) => slice.replaceAll(/\s+/g, ''))).join('');
  if (base64 === '') throw bad(`it is empty: ${right}`);
  if (!(await isBase64(base64))) throw bad(`it is not base64: ${right}`);
  await setImmediate();
  const image = await unpack(Buffer.from(base64, 'base64'), right);
  const label = isoLabel(image) ?? fatLabel(image);
  if (label === undefined) throw bad(`its content is neither ISO 9660 nor FAT: ${right}`);
  if (label.toLowerCase() !== 'config-2') throw bad(`its volume is labelled ${JSON.stringify(label)}: ${right}`);
  return base64;
}

/** Characters that are looked at before others have their turn: a drive has forty million. */
const sliceLength = 4 * 1024 * 1024;

async function inSlices<Result>(text: string, look: (slice: string) => Result): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < text.length; at += sliceLength) {
    if (at > 0) await setImmediate();
    results.push(look(text.slice(at, at + sliceLength)));
  }
  return results;
}

async function isBase64(text: string): Promise<boolean> {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  if (text.length % 4 !== 0 || text.length === padding) return false;
  const digits = await inSlices(text.slice(0, text.length - padding), (slice) => /^[A-Za-z0-9+/]+$/.test(slice));
  return digits.every(Boolean);
}

async function unpack(bytes: Buffer, right: string): Promise<Buffer> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) throw bad(`its content is not gzipped: ${right}`);
  try {
    return await gunzipApart(bytes, { maxOutputLength: maxBytes });
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

type Files = Readonly<Record<string, string>>;

/** Bytes of an ISO 9660 sector: a file begins with one. */
const sector = 2048;
const mostMolds = 16;
const mostMoldBytes = 1024 * 1024;

/** An image with room for the documents of any node whose documents are as long. */
interface Mold {
  readonly image: Buffer;
  /** Where each document goes, by name. */
  readonly places: ReadonlyMap<string, number>;
}

/** By the runner of processes, so that the runner of another one gets nothing that it has not made. */
const moldsOf = new WeakMap<Run, Map<string, Promise<Mold | undefined>>>();

/**
 * An ISO 9660 image labelled `config-2` with these files below `openstack/latest/`. The same files, the same bytes. JSON
 * documents are filled up with line feeds to whole sectors; then those of a thousand nodes go into one image that
 * xorrisofs has made, in place of starting it for each of them.
 * @throws AppError `command_failed` when xorrisofs (Debian: xorriso) does not run.
 */
async function makeConfigDriveImage(files: Files, run: Run): Promise<Buffer> {
  const filled = fillUp(files);
  const mold = await findMold(filled, run);
  if (!mold) return makeIso(filled, run);
  const image = Buffer.from(mold.image);
  for (const [name, place] of mold.places) image.write(filled[name] ?? '', place);
  return image;
}

const isDocument = (name: string): boolean => name.endsWith('.json');

function fillUp(files: Files): Files {
  return Object.fromEntries(
    Object.entries(files).map(([name, content]) => {
      const missing = isDocument(name) ? (sector - (Buffer.byteLength(content) % sector)) % sector : 0;
      return [name, content + '\n'.repeat(missing)];
    }),
  );
}

/** `undefined` where a document's place is not known. */
async function findMold(filled: Files, run: Run): Promise<Mold | undefined> {
  const blanks = Object.fromEntries(
    Object.entries(filled).map(([name, content]) => [name, isDocument(name) ? blank(name, content) : content]),
  );
  const key = JSON.stringify(blanks);
  if (key.length > mostMoldBytes) return undefined;
  const molds = moldsOf.get(run) ?? new Map<string, Promise<Mold | undefined>>();
  moldsOf.set(run, molds);
  const made = molds.get(key) ?? makeMold(blanks, run);
  // the one that was used last stands last
  molds.delete(key);
  molds.set(key, made);
  const [oldest] = molds.keys();
  if (oldest !== undefined && molds.size > mostMolds) molds.delete(oldest);
  try {
    return await made;
  } catch (error) {
    molds.delete(key);
    throw error;
  }
}

/** Makes a blank as long as the content, and found nowhere else. */
function blank(name: string, content: string): string {
  const length = Buffer.byteLength(content);
  const text = `baton's place for ${name}; `;
  return text.repeat(Math.ceil(length / text.length)).slice(0, length);
}

async function makeMold(blanks: Files, run: Run): Promise<Mold | undefined> {
  const image = await makeIso(blanks, run);
  const places = new Map<string, number>();
  for (const [name, content] of Object.entries(blanks)) {
    if (!isDocument(name)) continue;
    const place = image.indexOf(content);
    if (place === -1 || place !== image.lastIndexOf(content)) return undefined;
    places.set(name, place);
  }
  return { image, places };
}

async function makeIso(files: Files, run: Run): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-config-drive-'));
  try {
    const tree = join(folder, 'tree');
    const latest = join(tree, 'openstack', 'latest');
    await mkdir(latest, { recursive: true });
    for (const [name, content] of Object.entries(files)) await writeFile(join(latest, name), content);
    const image = join(folder, 'config.iso');
    const moment = '1980010100000000';
    const layout = ['-quiet', '-o', image, '-volid', 'config-2', '-rational-rock', '-joliet'];
    // same documents, same bytes: neither this moment's time nor that of the files just written
    const times = [`--modification-date=${moment}`, '--set_all_file_dates', moment];
    await run('xorrisofs', [...layout, ...times, tree], { env: { SOURCE_DATE_EPOCH: '315532800', TZ: 'UTC' } });
    return await readFile(image);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
