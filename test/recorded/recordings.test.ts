import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { switchDriverNames } from '#conductor/networks/switches/index.ts';
import { listFiles, readSources } from '../house/read-sources.ts';
import { kindsOfSource, readRecordings } from './read-recordings.ts';

/** Every recording has its parts, and a test of its subject that holds its reading against Baton's. */

/** There may be more. */
const least = { recordings: 480, ofSwitches: 100, switchSystems: 11 };

/** Recordings with a device's own words, by subject; there may be more. */
const leastOfDevices = {
  agents: 19,
  boot: 25,
  disks: 23,
  etcd: 2,
  images: 15,
  imports: 1,
  inventories: 2,
  ipmi: 13,
  kubernetes: 8,
  lldp: 1,
  machines: 17,
  redfish: 8,
  'redfish-media': 11,
  'redfish-refusals': 8,
  'switch-sessions': 10,
  switches: 40,
  tpm: 5,
};

const root = join(import.meta.dirname, '../..');

const subjects = (await readdir(import.meta.dirname, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(subjects)('%s: each recording names source, system and reading', async (subject) => {
  const recordings = await readRecordings(subject, z.unknown());
  const lacking = recordings.filter(
    ({ outputs, reading }) => Object.keys(outputs).length === 0 || reading === undefined,
  );
  expect(lacking.map(({ name }) => name)).toEqual([]);
});

const isOfDevice = ({ seen }: { readonly seen: string }) => ['hardware', 'recording', 'report'].includes(seen);

test('what a source does not show is said, and is not all of it', async () => {
  const recordings = (await Promise.all(subjects.map((subject) => readRecordings(subject, z.unknown())))).flat();
  const unasked = recordings.filter(({ added = {}, outputs }) => Object.keys(added).some((name) => !(name in outputs)));
  expect(unasked.map(({ name }) => name)).toEqual([]);
  const lacksSource = recordings.filter(({ added = {}, outputs, seen }) =>
    seen === 'composed'
      ? Object.keys(added).length > 0
      : Object.entries(outputs).every(([name, text]) => text === '' || added[name] === 'all'),
  );
  expect(lacksSource.map(({ name }) => name)).toEqual([]);
});

test("devices' own words do not become fewer", async () => {
  const all = await Promise.all(
    subjects.map(async (subject) => ({ subject, recordings: await readRecordings(subject, z.unknown()) })),
  );
  expect(new Set(subjects)).toEqual(new Set(Object.keys(leastOfDevices)));
  const fewer = all.filter(
    ({ subject, recordings }) =>
      recordings.filter(isOfDevice).length < leastOfDevices[subject as keyof typeof leastOfDevices],
  );
  expect(fewer.map(({ subject }) => subject)).toEqual([]);
});

/** Folders of a driver's switches, of their LLDP and of sessions with them, where they have another name. */
const foldersOf: Readonly<Record<string, readonly string[]>> = { 'ios-xe': ['ios-xe', 'ios'] };

/** Tells how many recordings of each kind a driver was held against: `recording 10, composed 5`; `nothing` without any. */
async function describeSeen(driver: string): Promise<string> {
  const places = ['switches', 'switch-sessions', 'lldp'].flatMap((subject) =>
    (foldersOf[driver] ?? [driver]).map((name) => `${subject}/${name}`),
  );
  const files = await listFiles(import.meta.dirname, '.', '.yaml');
  const there = places.filter((place) => files.some((file) => file.startsWith(`${place}/`)));
  const recordings = (await Promise.all(there.map((place) => readRecordings(place, z.unknown())))).flat();
  const counts = kindsOfSource.map((kind) => [kind, recordings.filter(({ seen }) => seen === kind).length] as const);
  return (
    counts
      .filter(([, count]) => count > 0)
      .map((each) => each.join(' '))
      .join(', ') || 'nothing'
  );
}

test('the table of switch drivers says of each what it was held against', async () => {
  const text = await readFile(join(root, 'docs/networks.md'), 'utf8');
  const [, table = ''] = /\n\| driver \|.*\| seen \|\n\|[-|]+\n((?:\|.*\n)+)/.exec(text) ?? [];
  const rows = table
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const said = rows.map((cells) => [cells[1]?.replaceAll('`', ''), cells.at(-2)]);
  expect(new Set(said.map(([driver]) => driver))).toEqual(new Set(switchDriverNames));
  const found = await Promise.all(said.map(async ([driver = '']) => [driver, await describeSeen(driver)]));
  expect(said).toEqual(found);
});

test('a folder without recordings is a mistake, not none', async () => {
  await expect(readRecordings('../fuzz', z.unknown())).rejects.toThrow('has no recording');
});

/** Folders that tests beside the parsers read: `switches`, `images/tables`. */
async function readFolders(): Promise<readonly string[]> {
  const tests = (await readSources(root)).filter(({ path }) => /^(agent|conductor|shared)\/.*\.test\.ts$/.test(path));
  return tests.flatMap(({ text }) =>
    [...text.matchAll(/\breadRecordings\(\s*'([\w/-]+)'/g)].map(([, folder = '']) => folder),
  );
}

test("each recording is read by its subject's test", async () => {
  const folders = await readFolders();
  const files = await listFiles(import.meta.dirname, '.', '.yaml');
  const unread = files.filter((file) => !folders.some((folder) => file.startsWith(`${folder}/`)));
  expect(unread).toEqual([]);
  expect(files.length).toBeGreaterThanOrEqual(least.recordings);
  const ofSwitches = files.filter((file) => /^switch(es|-sessions)\//.test(file));
  expect(ofSwitches.length).toBeGreaterThanOrEqual(least.ofSwitches);
  const systems = new Set(ofSwitches.map((file) => file.split('/')[1]));
  expect(systems.size).toBeGreaterThanOrEqual(least.switchSystems);
});
