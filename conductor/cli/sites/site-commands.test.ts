import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { runCommand } from '#conductor/cli/commands.ts';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import { createApiClient } from '#conductor/cli/shell/api-client.ts';
import { systemClock } from '#shared/clock.ts';
import { forgetRevisions } from '#test/support/forget-revisions.ts';
import { nodeDocument, plainStrategy, strategyDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** The commands against the API itself, in process. */

let api: TestApi;
let folder: string;
beforeAll(async () => {
  api = await openTestApi();
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => api.request(url, init));
  folder = await mkdtemp(join(tmpdir(), 'baton-site-'));
  await mkdir(join(folder, 'site/racks'), { recursive: true });
  await writeFile(join(folder, 'site/strategy.yaml'), plainStrategy);
  await writeFile(join(folder, 'site/racks/r1.yml'), nodeDocument('n1').trimEnd());
  await writeFile(join(folder, 'site/racks/r2.yaml'), nodeDocument('n2').replace('---\n', ''));
  await writeFile(join(folder, 'site/notes.txt'), 'no YAML: [');
  await writeFile(join(folder, 'n1.yaml'), nodeDocument('n1').replace('rack1', 'rack2'));
  const cycle = '[{name: a, critical: true, depends_on: [a], selectors: []}]';
  await writeFile(join(folder, 'bad.yaml'), strategyDocument(cycle) + nodeDocument('n9', '  host_profile: none\n'));
  await writeFile(join(folder, 'password'), 'secret-word\n');
});
beforeEach(() => forgetRevisions(api.context.db));
afterAll(async () => {
  vi.unstubAllGlobals();
  await api.close();
  await rm(folder, { recursive: true });
});

const settings = { url: 'http://api.example', authorization: undefined, authorities: undefined, insecure: false };

const notices: string[] = [];

async function baton(...args: string[]): Promise<string> {
  notices.length = 0;
  let output = '';
  const screen = {
    write: (text: string | Uint8Array) => void (output += String(text)),
    isTerminal: false,
    size: () => ({ columns: 80, rows: 24 }),
  };
  const connect = () => ({ client: createApiClient(settings), openConsole: () => Promise.reject(new Error('none')) });
  await runCommand(
    {
      screen,
      describeSettings: () => Promise.resolve([]),
      clock: systemClock,
      connect,
      notify: (line) => void notices.push(line),
    },
    args,
  );
  return output;
}
const failure = async (...args: string[]) => {
  const error: unknown = await baton(...args).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return [exitCodeOf(error), (error as Error).message] as const;
};
const file = (name: string) => join(folder, name);

test('a site from a folder: uploaded, compared, committed, shown, taken back', async () => {
  expect(await baton('site', 'upload', 'site', file('site'))).toMatch(/^Collection site is in the buffer: revision 1/);
  expect(await baton('site', 'show')).toMatch(/site +not present +created/);
  expect(await baton('site', 'diff')).toBe(
    'committed (nothing) → buffer (revision 1)\n' +
      '+ drydock/BaremetalNode/v1/n1\n+ drydock/BaremetalNode/v1/n2\n' +
      '+ shipyard/DeploymentStrategy/v1/deployment-strategy\n',
  );
  expect(await baton('site', 'validate')).toMatch(/^DRYRUN/);
  expect(await baton('site', 'commit')).toMatch(/^Revision 1 is committed/);
  expect(await baton('site', 'diff')).toContain('the documents are the same');
  expect(await baton('site', 'upload', 'site', file('n1.yaml'))).toContain('revision 2');
  const diff = await baton('site', 'diff');
  expect(diff).toContain('- drydock/BaremetalNode/v1/n2\n');
  expect(diff).toContain('~ drydock/BaremetalNode/v1/n1\n    data.metadata.rack: rack1 → rack2\n');
  expect(await baton('site', 'show', 'site')).toBe(nodeDocument('n1').replace('rack1', 'rack2'));
  expect(JSON.parse(await baton('site', 'show', 'site', '--version', 'committed', '-o', 'json'))).toHaveLength(3);
  expect(await baton('site', 'show', '--version', '1')).toBe('collection  revision\nsite        1\n');
  expect(await baton('site', 'show', 'site', '--version', '2')).toBe(nodeDocument('n1').replace('rack1', 'rack2'));
  expect(await baton('site', 'diff', '--base-version', '1', '--diff-version', '2')).toBe(
    diff.replace(/^.*\n/, 'revision 1 → revision 2\n'),
  );
  expect(await baton('site', 'show', '--rendered')).toContain('rack: rack2');
  expect(await baton('site', 'show', '--rendered', '--cleartext-secrets')).toContain('rack: rack2');
  expect(await failure('site', 'rollback', '1')).toEqual([
    1,
    expect.stringContaining('it changes site. Commit it first; or --mode replace drops what it changes.'),
  ]);
  expect(await failure('site', 'rollback', '1', '--mode', 'append')).toEqual([
    2,
    expect.stringContaining('--mode: append: it must be replace, rejectoncontents'),
  ]);
  expect(await baton('site', 'rollback', '1', '--mode', 'replace')).toBe(
    'revision 3 says what revision 1 said, as what is committed does: there is nothing to commit\n',
  );
  expect(await failure('site', 'commit')).toEqual([1, expect.stringContaining('The buffer is empty')]);
  expect(await baton('site', 'tag', '1', 'good', 'because=it works')).toBe('revision 1 is tagged good\n');
  const revisions = await baton('site', 'revisions');
  expect(revisions.split('\n')).toHaveLength(5);
  expect(revisions).toMatch(/3 +.* rollback to 1 +site +- +buffer\n/);
  expect(revisions).toMatch(/1 +.* upload +site +committed,good +committed\n/);
  expect(JSON.parse(await baton('site', 'revisions', '--tag', 'good', '-o', 'json'))).toMatchObject([{ id: 1 }]);
  expect(await baton('site', 'tag', '1', 'good', '--remove')).toContain('no tag good');
  expect(await baton('site', 'remove', 'site', '--mode', 'append')).toMatch(
    /^Collection site is removed, in the buffer: revision 4 has no errors\./,
  );
  expect(await baton('site', 'remove', 'site', '--mode', 'append')).toMatch(
    /^Nothing has changed: no collection site; revision 4 has no errors\./,
  );
});

test.each([
  ['site', 'groups'],
  ['plugin', 'order'],
])('%s %s tells that the buffer is empty, and what to do', async (...words) => {
  const upload = '`baton site upload COLLECTION FILE` fills it';
  expect(await failure(...words, '--version', 'buffer')).toEqual([
    1,
    `the buffer is empty, and nothing is committed: ${upload}`,
  ]);
  await baton('site', 'upload', 'site', file('site'));
  expect(await failure(...words, '--version', 'committed')).toEqual([
    1,
    'there is no revision that is committed; the buffer has revision 1: --version buffer',
  ]);
  await baton('site', 'commit');
  expect(await failure(...words, '--version', 'buffer')).toEqual([
    1,
    `the buffer is empty: ${upload}; without --version it is revision 1, which is committed`,
  ]);
});

test.each([
  [['show', '--version', '99'], 'Revision 99 could not be found.'],
  [['show', '--version', 'last-site-action'], 'There is no revision of version last-site-action yet.'],
  [['show', 'site', '--version', '99'], 'Revision 99 could not be found.'],
  [['show', '--rendered', '--version', '99'], 'Revision 99 could not be found.'],
  [['diff', '--base-version', '99'], 'Revision 99 could not be found.'],
  [['diff', '--base-version', '0', '--diff-version', '99'], 'Revision 99 could not be found.'],
  [['rollback', '99'], 'Revision 99 could not be found.'],
])('site %j: a version that is not there is refused', async (words, message) => {
  await baton('site', 'upload', 'site', file('site'));
  await baton('site', 'commit');
  expect(await failure('site', ...words)).toEqual([1, message]);
});

test('faults are told with document and path, errors first; they hinder a commit, not an upload', async () => {
  const notices = await baton('site', 'upload', 'bad', file('bad.yaml'));
  expect(notices).toContain(`  Error drydock/BaremetalNode/v1/n9 (${file('bad.yaml')}:6), data.host_profile: `);
  const levels = [...notices.matchAll(/^ {2}(Error|Warning|Info) /gm)].map(([, level]) => level);
  expect(levels).toEqual([...levels].sort((a, b) => order(a) - order(b)));
  expect(await failure('site', 'commit')).toEqual([
    1,
    expect.stringContaining('  Error drydock/BaremetalNode/v1/n9, data'),
  ]);
  expect((await failure('site', 'validate'))[0]).toBe(1);
  expect((await failure('site', 'commit', '--dry-run'))[0]).toBe(1);
  expect(await baton('site', 'commit', '--force')).toContain('FORCED SUCCESS');
  expect((await failure('site', 'validate', 'bad', file('bad.yaml')))[0]).toBe(1);
  expect(await baton('site', 'validate', 'bad', file('n1.yaml'))).toContain('DRYRUN: collection bad is not stored');
});

test('faults of several files are told with the file and its line', async () => {
  await mkdir(file('indented'), { recursive: true });
  await writeFile(file('indented/a.yaml'), nodeDocument('a1'));
  await writeFile(file('indented/b.yaml'), 'schema: x/Y/v1\nmetadata:\n  name: b\n   schema: z\n');
  const [code, message] = await failure('site', 'upload', 'c', file('indented'));
  expect(code).toBe(1);
  expect(message).toContain('indented/b.yaml:3:9: the next line is indented deeper than this value allows');
  expect(message.match(/b\.yaml/g)).toHaveLength(1);
  const [, alone] = await failure('site', 'upload', 'c', file('indented/b.yaml'));
  expect(alone).toContain('indented/b.yaml:3:9: ');
});

test('a checked-out site of many files: what it shares, what its type shares, its own', async () => {
  const write = async (name: string, text: string) => {
    await mkdir(join(file('airship'), name, '..'), { recursive: true });
    await writeFile(join(file('airship'), name), text);
  };
  const definition = (data: string) =>
    `schema: pegleg/SiteDefinition/v1\nmetadata: {schema: metadata/Document/v1, name: one}\ndata: ${data}\n`;
  await write('global/strategy.yaml', plainStrategy);
  await write('global/.git/config.yaml', 'no document');
  await write('type/small/n1.yaml', nodeDocument('n1'));
  await write('type/large/n8.yaml', nodeDocument('n8'));
  await write('site/one/racks/r1.yaml', `${nodeDocument('n2')}${nodeDocument('n3', '  host_profile: none\n')}`);
  await write('site/one/site-definition.yaml', definition('{site_type: small, repositories: {secrets: {}}}'));
  const printed = await baton('site', 'import', file('airship'));
  expect(notices).toEqual([expect.stringMatching(/^not imported: repository secrets, which .*: check it out/)]);
  expect(printed).toMatch(/^Collection one is in the buffer/);
  expect(printed).toContain(
    `drydock/BaremetalNode/v1/n3 (${file('airship/site/one/racks/r1.yaml')}:10), data.host_profile`,
  );
  const documents: unknown = JSON.parse(await baton('site', 'show', 'one', '-o', 'json'));
  const named = (documents as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
  expect(named).toEqual(['deployment-strategy', 'n1', 'n2', 'n3', 'one']);
  expect(await failure('site', 'import', file('airship'), '--dry-run')).toEqual([1, 'the documents have errors']);

  await write('site/two/site-definition.yaml', definition('{site_type: none-such}'));
  expect(await failure('site', 'import', file('airship'))).toEqual([
    2,
    expect.stringMatching(/^--site: must be given; below .*site there are one, two$/),
  ]);
  expect(await failure('site', 'import', file('airship'), '--site', 'three')).toEqual([
    2,
    expect.stringContaining('there is no site three'),
  ]);
  expect(await failure('site', 'import', file('airship'), '--site', 'two')).toEqual([
    2,
    expect.stringContaining('site_type is none-such, and there is no'),
  ]);
  await mkdir(file('outside'), { recursive: true });
  await writeFile(join(file('outside'), 'n9.yaml'), nodeDocument('n9'));
  const outside = [2, expect.stringContaining(`outside of ${file('airship')}: nothing is imported`)];
  await write('site/two/site-definition.yaml', definition('{site_type: ../../outside}'));
  expect(await failure('site', 'import', file('airship'), '--site', 'two')).toEqual(outside);
  await symlink(file('outside'), join(file('airship'), 'type/linked'));
  await write('site/two/site-definition.yaml', definition('{site_type: linked}'));
  expect(await failure('site', 'import', file('airship'), '--site', 'two')).toEqual(outside);
  await write('site/two/site-definition.yaml', definition('{site_type: large}'));
  await symlink(join(file('outside'), 'n9.yaml'), join(file('airship'), 'type/large/n9.yaml'));
  notices.length = 0;
  await baton('site', 'import', file('airship'), '--site', 'two', '--mode', 'replace');
  expect(notices).toEqual([`not imported: ${join(file('airship'), 'type/large/n9.yaml')}, which is a link`]);
  await write('site/two/site-definition.yaml', definition('[]'));
  expect((await failure('site', 'import', file('airship'), '--site', 'two'))[0]).toBe(2);
  expect(await failure('site', 'import', file('none-such'))).toEqual([2, expect.stringContaining('none-such')]);
  // of another layout all of it, with each file that has a fault
  await write('site/two/site-definition.yaml', 'schema: x/Y/v1\nmetadata: {}\n');
  const [, refused] = await failure('site', 'import', file('airship/site'));
  expect(refused).toContain('site/two/site-definition.yaml:2:');
  expect(await baton('site', 'import', file('site'), '--mode', 'replace')).toMatch(/^Collection site is in the buffer/);
});

const order = (level: string | undefined) => ['Error', 'Warning', 'Info'].indexOf(level ?? '');

test('what can not be sent is told before anything is', async () => {
  expect(await failure('site', 'upload', 'c', file('none.yaml'))).toEqual([2, expect.stringContaining('none.yaml')]);
  await mkdir(file('empty'), { recursive: true });
  expect(await failure('site', 'upload', 'c', file('empty'))).toEqual([2, expect.stringContaining('no .yaml')]);
  expect((await failure('site', 'upload', 'c'))[0]).toBe(2);
  expect((await failure('site', 'validate', 'c'))[0]).toBe(2);
  expect(await failure('site', 'upload', 'c', file('n1.yaml'), '--mode', 'merge')).toEqual([
    2,
    '--mode: merge: it must be append, replace, rejectoncontents',
  ]);
  expect(await failure('site', 'remove', 'nope')).toEqual([1, 'there is no collection nope: there are none']);
  expect(await failure('site', 'show', 'none')).toEqual([1, expect.stringContaining('Collection none')]);
  expect(await baton('site', 'diff')).toBe('there are no documents\n');
});

test('credentials are stored from files, listed without passwords, and deleted', async () => {
  expect(await baton('credential', 'set', 'rack', 'username=root', `password=@${file('password')}`)).toBe(
    'credential rack is stored\n',
  );
  expect(notices).toEqual([]);
  expect(await baton('credential', 'set', 'open', 'username=root', 'password=secret-word')).toContain('is stored');
  expect(notices).toEqual([expect.stringMatching(/^password: it stands among the arguments(?!.*secret-word)/)]);
  await baton('credential', 'delete', 'open', '--force');
  const listed = await baton('credential', 'list', '-o', 'json');
  expect(JSON.parse(listed)).toMatchObject([{ name: 'rack', username: 'root' }]);
  expect(listed).not.toContain('secret-word');
  expect(await failure('credential', 'set', 'rack', 'username=root')).toEqual([1, expect.stringContaining('password')]);
  expect(await baton('credential', 'delete', 'rack', '--force')).toBe('credential rack deleted\n');
  expect((await failure('credential', 'delete', 'rack'))[0]).toBe(1);
});
