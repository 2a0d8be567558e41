import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run } from '#shared/process/run.ts';

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

/** By the runner of processes, so that whoever brings another one gets nothing that it has not made. */
const moldsOf = new WeakMap<Run, Map<string, Promise<Mold | undefined>>>();

/**
 * An ISO 9660 image labelled `config-2` with these files below `openstack/latest/`. The same files, the same bytes. JSON
 * documents are filled up with line feeds to whole sectors; then those of a thousand nodes go into one image that
 * xorrisofs has made, in place of starting it for each of them.
 * @throws AppError `command_failed` when xorrisofs (Debian: xorriso) does not run.
 */
export async function makeConfigDriveImage(files: Files, run: Run): Promise<Buffer> {
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

/** `undefined` where a document's place can't be told. */
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

/** As long as the content, and found nowhere else. */
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
