import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allowedFacts } from './house/allowed-facts.ts';
import { findAssumedFacts, type Shape } from './house/assumed-facts.ts';
import { isProduct, readSources } from './house/read-sources.ts';

/** All other folders read the outside. */
const readNothing: Readonly<Record<string, string>> = {
  'agent/image/chunks/': 'our own index, proved by digests',
  'agent/image/one-chunk/': 'a chunk, proved by its digest',
  'agent/image/neighbours/': 'our own agents, proved by digests',
  'agent/image/qcow2/': 'numbers of a table, held against the bytes of the file',
  'conductor/agents/': 'answers that shared/wire has parsed',
  'conductor/allocations/': 'our own rows',
  'conductor/api/': 'requests',
  'conductor/auth/': 'requests',
  'conductor/board/': 'shows what the API says',
  'conductor/boot/': 'makes files of settings',
  'conductor/bundle/': 'builds the program',
  'conductor/cli/': 'shows what the API says',
  'conductor/http/': 'requests',
  'conductor/images/': 'files of our own',
  'conductor/kernel/': 'our own rows',
  'conductor/model/(?!tpm)': 'words of our own',
  'conductor/networks/(?!neutron|switches)': "settings of an operator's file",
  'conductor/nodes/(?!inspection|ports)': 'our own rows',
  'conductor/sites/': "an operator's documents",
  'conductor/start/': 'settings',
  'conductor/templates/': 'our own rows',
  'conductor/webhooks/': 'our own rows',
  'image-build/': 'builds images',
  'shared/(?!disks|machine-identity|peers|raid)': 'types and programs; knows no hardware',
};

const isReader = (path: string): boolean =>
  !Object.keys(readNothing).some((folder) => new RegExp(`^${folder}`).test(path));

test('what was not read is not taken for a fact', async () => {
  const looked = (await readSources(join(import.meta.dirname, '..')))
    .filter(isProduct)
    .filter(({ path }) => isReader(path));
  expect(looked.length).toBeGreaterThan(300);
  const found = looked.flatMap(({ path, text }) => findAssumedFacts(text).map((fact) => ({ path, ...fact })));
  const of = (shape: Shape, path: string) => found.filter((each) => each.shape === shape && each.path === path);
  const excess = found.filter(({ shape, path }) => of(shape, path).length > (allowedFacts[shape][path]?.[0] ?? 0));
  // let the type have a value for it, `undefined` or `unknown`, and refuse what would follow
  expect(excess).toEqual([]);
  const gone = (Object.keys(allowedFacts) as Shape[]).flatMap((shape) =>
    Object.entries(allowedFacts[shape]).filter(([path, [places]]) => of(shape, path).length < places),
  );
  // mended: let the list say so
  expect(gone).toEqual([]);
});

test.each([
  ['word for unknown', "const port = { vlans: state ?? 'isolated' };"],
  ['word for unknown', 'const native = found ?? 1;'],
  ['word for unknown', 'const disk = { sizeBytes: Number(size ?? 0) };'],
  ['word for unknown', "const mode = bond.mode || 'none';"],
  ['word for unknown', "const vlans = state === undefined ? 'isolated' : state;"],
  ['word for unknown', "const vlans = state !== null ? state : 'isolated';"],
  ['word for unknown', 'const vlans = snapshot.ports.get(portId) ?? isolated;'],
  ['word for unknown', 'const vlans = state === undefined ? isolated : state;'],
  ['word for unknown', 'found ??= isolated;'],
  ['word for unknown', 'const { vlans } = states.get(portId) ?? { portId, vlans: isolated };'],
  ['word for unknown', 'const [{ vlans } = { vlans: isolated }] = states;'],
  ['word for unknown', "const vlans = snapshot.ports.get(portId) ?? 'isolated';"],
  ['word for unknown', 'const isProtected = protectedBy(disk) ?? false;'],
  ['word for unknown', 'vlan ??= 1;'],
  ['word for unknown', "const { voiceVlan = 'none' } = shown;"],
  ['last resort', "function read(line) { if (line) return line; return 'isolated'; }"],
  ['last resort', 'function read(lines) { if (lines.includes(access)) return vlan; return isolated; }'],
  ['nothing for unknown', 'function choose(disks = []) { return disks; }'],
  ['nothing for unknown', 'const serials = disk.serials ?? [];'],
  ['nothing for unknown', 'const members = (await listMembers(run)) ?? [];'],
  ['nothing for unknown', "const name = (get('DEVLINKS') ?? '').split(' ');"],
  ['first of many', 'const name = disk.links.find((link) => link.startsWith(prefix));'],
  ['first of many', 'const name = disk.links\n  .find(\n    (link) => link.startsWith(prefix),\n  );'],
  ['first of many', "const link = get('DEVLINKS').split(' ').find((each) => each.includes('by-path'));"],
  ['first of many', 'const disk = disks.filter(isDisk)[0];'],
  ['first of many', 'const [first] = disk.serials;'],
  ['first of many', 'const [first] = disks.filter(isDisk);'],
  ['first of many', 'const name = wwns.shift();'],
  ['first of many', 'const name = disk.wwns.at(0);'],
  ['first of many', 'const system = data.Members[0];'],
  ['first of many', 'const serial = disk.serials[0];'],
  ['first of many', 'const physical = network.segments?.[0]?.name;'],
  ['first of many', 'const made = shown.find((path) => !before.includes(path));'],
  ['first of many', 'const inner = Object.values(document)[0];'],
] as const)('%s: %s', (shape, text) => {
  expect(findAssumedFacts(text).map((fact) => fact.shape)).toEqual([shape]);
});

test.each([
  "const vlans = state ?? 'unknown';",
  "const vlans = snapshot.ports.get(portId) ?? 'other';",
  "if (list === 'none') return isolated;",
  "const vlans = isEnabled ? 'other' : isolated;",
  'const back = { portId, vlans: isolated };',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of a source
  "throw new Error(`it has ${names.join() || 'none'}`);",
  'const count = (seen.get(name) ?? 0) + 1;',
  'const retryMs = options.retryMs ?? 1000;',
  'const disk = disks.find(({ name }) => name === wanted);',
  'function one(disks) { if (disks.length !== 1) throw new Error(); return disks[0]; }',
  'const [number] = /\\d+/.exec(line);',
  '// the first is the one: links[0]',
])('%s takes nothing for one', (text) => {
  expect(findAssumedFacts(text)).toEqual([]);
});
