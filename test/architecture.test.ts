import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agentFloors, findKnots, findOffences, floors } from './house/floors.ts';
import { countCircles, findLargestFolder } from './house/measure.ts';
import { isProduct, layers, readSources, type Source } from './house/read-sources.ts';
import { findRoomFaults, listHouses } from './house/rooms.ts';

/** DESIGN.md's rules on who may import whom, as a program. */

const root = join(import.meta.dirname, '..');
const sources = await readSources(root);
const product = sources.filter(isProduct);
const within = (path: string, folders: readonly string[]) => folders.some((folder) => path.startsWith(`${folder}/`));

/** `importer → imported` for every import that a rule forbids. */
function offences(
  from: (source: Source) => boolean,
  forbidden: (imported: string) => boolean,
  files: readonly Source[] = product,
): string[] {
  return files
    .filter(from)
    .flatMap(({ path, imports }) => imports.filter(forbidden).map((imported) => `${path} → ${imported}`));
}

test('the check looks at files', () => {
  expect(product.length).toBeGreaterThan(120);
  for (const layer of layers)
    expect(sources.filter(({ path }) => path.startsWith(`${layer}/`)).length).toBeGreaterThan(3);
  expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(300);
  expect(
    offences(
      ({ path }) => path === 'conductor/start/start-conductor.ts',
      (name) => name === 'shared/log.ts',
    ),
  ).toHaveLength(1);
});

describe('imports', () => {
  test('shared imports nothing of the programs', () => {
    expect(
      offences(
        ({ path }) => path.startsWith('shared/'),
        (name) => within(name, layers.slice(1)),
      ),
    ).toEqual([]);
  });

  test('agent and conductor never import each other, and nobody imports image-build or tests', () => {
    const agent = offences(
      ({ path }) => path.startsWith('agent/'),
      (name) => within(name, ['conductor']),
    );
    const conductor = offences(
      ({ path }) => path.startsWith('conductor/'),
      (name) => within(name, ['agent']),
    );
    const both = offences(
      ({ path }) => within(path, ['shared', 'agent', 'conductor']),
      (name) => within(name, ['image-build', 'test']),
    );
    expect([...agent, ...conductor, ...both]).toEqual([]);
  });

  test('pure files import nothing that can wait', () => {
    const isPure = ({ path }: Source) =>
      /\/(plan-[a-z-]+|[a-z-]+-states|flow-kinds|flow-log|next-action|match|demand|select-[a-z-]+|required-boot|root-device-hints|image-info)\.ts$/.test(
        path,
      );
    expect(product.filter(isPure).length).toBeGreaterThan(6);
    const waits = (name: string) =>
      /^(node:(?!path|net|crypto)|undici|postgres|drizzle|hono|@hono)/.test(name) ||
      within(name, ['conductor/kernel/db/open', 'shared/process']) ||
      name.endsWith('-store.ts');
    expect(offences(isPure, waits)).toEqual([]);
    expect(
      product
        .filter(isPure)
        .filter(({ text }) => /\basync\b|\bawait\b/.test(text))
        .map(({ path }) => path),
    ).toEqual([]);
  });

  test('what rehearses an action reaches nothing that could touch a machine, a switch or the database', () => {
    const bySource = new Map(sources.map((source) => [source.path, source]));
    const reached = new Set<string>();
    const reach = (path: string): void => {
      if (reached.has(path)) return;
      reached.add(path);
      for (const name of bySource.get(path)?.imports ?? []) reach(name);
    };
    reach('conductor/sites/rehearsal/apart/rehearsal-thread.ts');
    expect(reached.size).toBeGreaterThan(20);
    const pure = ['conductor/model', 'conductor/sites/rehearsal', 'conductor/sites/strategy', 'shared/errors'];
    expect([...reached].filter((name) => !within(name, pure)).sort()).toEqual([
      'conductor/sites/actions/settle-run.ts',
      'node:util',
      'node:worker_threads',
      'shared/url-logins.ts',
      'shared/words.ts',
    ]);
    // nor does what reads for it name any of the acts
    const acts = (name: string) =>
      within(name, [
        'conductor/drivers',
        'conductor/networks',
        'conductor/cluster',
        'conductor/agents',
        'shared/process',
      ]) ||
      /^conductor\/sites\/nodes\/(act-on|advance|deploy|enrol|relabel|verify)-nodes?\.ts$/.test(name) ||
      /^(node:(net|http|https|tls|dgram|child_process|fs)|undici|ssh2)/.test(name);
    expect(offences(({ path }) => path.startsWith('conductor/sites/rehearsal/'), acts)).toEqual([]);
  });

  test('processes are started in one place', () => {
    const starts = offences(
      ({ path }) => path !== 'shared/process/run.ts',
      (name) => name === 'node:child_process',
      sources,
    );
    expect(starts).toEqual([]);
  });
});

test('packages of which more is used than they promise have one exact version', async () => {
  const Manifest = z.object({ dependencies: z.record(z.string(), z.string()) });
  const { dependencies } = Manifest.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  for (const name of ['pg', 'drizzle-orm', '@kubernetes/client-node', '@lydell/node-pty'])
    expect([name, dependencies[name]]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
});

test('no circle of imports, of types too, between rooms or files', () => {
  expect(countCircles(product)).toEqual({ rooms: 0, files: 0 });
});

test('no folder is a hall: at most 20 files lie beside each other', () => {
  expect(findLargestFolder(product).files).toBeLessThanOrEqual(20);
  const hall = Array.from({ length: 21 }, (_, index) => ({ path: `agent/hall/${index}.ts` }));
  expect(findLargestFolder([{ path: 'agent/room/1.ts' }, ...hall])).toEqual({ folder: 'agent/hall', files: 21 });
});

describe("a folder's README", () => {
  const readme = (folder: string): Promise<string | undefined> =>
    readFile(join(root, folder, 'README.md'), 'utf8').catch(() => undefined);

  test('names its rooms from top to bottom', async () => {
    const houses = listHouses(sources);
    expect(houses.length).toBeGreaterThan(10);
    const faults = await Promise.all(houses.map(async (house) => findRoomFaults(house, await readme(house.folder))));
    expect(faults.flat()).toEqual([]);
  });

  test('is seen to miss a room, and to have one above another that imports it', () => {
    const source = (path: string, imports: readonly string[]): Source => ({ path, text: '', imports, typeImports: [] });
    const [house] = listHouses([
      source('conductor/hall/top/a.ts', ['conductor/hall/low/b.ts']),
      source('conductor/hall/low/b.ts', []),
    ]);
    if (!house) throw new Error('no house was found');
    expect(findRoomFaults(house, 'Rooms from top to bottom: `top`, `low`.')).toEqual([]);
    expect(findRoomFaults(house, undefined)).toEqual([
      'conductor/hall/README.md names no "rooms from top to bottom": low, top',
    ]);
    expect(findRoomFaults(house, 'Rooms from top to bottom: `top`.')).toEqual([
      'conductor/hall/README.md: low is missing',
    ]);
    expect(findRoomFaults(house, 'Rooms from top to bottom: `low`, `top`.')).toEqual([
      'conductor/hall/README.md: top imports low, which stands above it',
    ]);
  });
});

describe('the floors of the agent', () => {
  test('every folder, and every file beside them, stands on one', async () => {
    const entries = await readdir(join(root, 'agent'), { withFileTypes: true });
    const rooms = entries.filter(
      (entry) => entry.isDirectory() || (entry.name.endsWith('.ts') && isProduct({ path: `agent/${entry.name}` })),
    );
    const named = rooms.map(({ name }) => name).filter((name) => name !== 'testing');
    expect(agentFloors.flat().sort()).toEqual(named.sort());
  });

  test('imports, of types too, go down', () => {
    expect(findOffences(sources, 'agent')).toEqual([]);
  });

  test('the check sees a tool for disks that serves, and a context that knows an image', () => {
    const source = (path: string, imports: readonly string[], typeImports: readonly string[] = []): Source => ({
      path: `agent/${path}`,
      text: '',
      imports: imports.map((name) => `agent/${name}`),
      typeImports: typeImports.map((name) => `agent/${name}`),
    });
    const made = [
      source('storage/sfdisk.ts', ['storage/lsblk.ts', 'machine/boot-mode.ts', 'http/app.ts']),
      source('context.ts', ['say.ts'], ['image/write-image.ts']),
      source('steps/raid.ts', ['raid/create-arrays.ts', 'nowhere/x.ts']),
      source('steps/raid.test.ts', ['agent.ts']),
    ];
    expect(findOffences(made, 'agent')).toEqual([
      'context.ts → image/write-image.ts',
      'steps/raid.ts → nowhere/x.ts',
      'storage/sfdisk.ts → http/app.ts',
    ]);
  });
});

describe('the floors of the conductor', () => {
  test('every folder stands on one', async () => {
    const entries = await readdir(join(root, 'conductor'), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(floors.flat().sort()).toEqual(folders.sort());
  });

  test('imports, of types too, go down', () => {
    expect(findOffences(sources)).toEqual([]);
  });

  test('nor do folders within one of them import each other in a circle', () => {
    expect(findKnots(sources)).toEqual([]);
  });

  test('the check sees types, folders that do not know each other, and strangers', () => {
    const source = (path: string, imports: readonly string[], typeImports: readonly string[] = []): Source => ({
      path: `conductor/${path}`,
      text: '',
      imports: imports.map((name) => `conductor/${name}`),
      typeImports: typeImports.map((name) => `conductor/${name}`),
    });
    const made = [
      source('nodes/a.ts', ['kernel/db/open.ts', 'nodes/ports/b.ts'], ['flows/c.ts']),
      source('drivers/a.ts', ['networks/b.ts', 'kernel/c.ts'], ['kernel/db/schema/node.ts']),
      source('cli/a.ts', ['api/b.ts', 'cli/c.ts', 'model/d.ts', 'nodes/e.ts']),
      source('nodes/a.test.ts', ['start/b.ts']),
      source('nodes/testing/a.ts', ['start/b.ts']),
      source('elsewhere/a.ts', ['model/b.ts']),
    ];
    expect(findOffences(made)).toEqual([
      'cli/a.ts → nodes/e.ts',
      'drivers/a.ts → kernel/db/schema/node.ts',
      'drivers/a.ts → networks/b.ts',
      'elsewhere/a.ts → model/b.ts',
      'nodes/a.ts → flows/c.ts',
    ]);
  });
});
