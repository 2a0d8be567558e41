import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { siteContents } from '#conductor/kernel/db/schema/site.ts';
import { parseUpload } from '#conductor/sites/documents/yaml/parse-upload.ts';
import { checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import { type ApiWithCallers, openApiWithCallers, type Who } from '#test/support/api-with-callers.ts';
import { createCanaries, dumpDatabase } from '#test/support/canaries.ts';
import { forgetRevisions } from '#test/support/forget-revisions.ts';

/** `storagePolicy: encrypted`: sealed in the database, seen by no reader, used where Baton keeps secrets. */

const airship = '/api/v1.0';
const { canary, found } = createCanaries();
const password = canary('a passphrase');
const other = canary('another passphrase');

let api: ApiWithCallers;
beforeAll(async () => {
  api = await openApiWithCallers();
});
beforeEach(() => forgetRevisions(api.api.context.db));
afterAll(() => api.api.close());

async function ask(who: Who, method: string, path: string, body?: string) {
  const type = body?.startsWith('{') ? 'application/json' : 'application/x-yaml';
  const headers = { ...api.headersOf(who), 'Content-Type': type };
  const answer = await api.api.request(`${airship}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  return { status: answer.status, text: await answer.text() };
}
const upload = (text: string, collection = 'site') =>
  ask('admin', 'POST', `/configdocs/${collection}?buffermode=replace`, text);

const passphrase = (data: string, name = 'ipmi', policy = 'encrypted') => `---
schema: deckhand/Passphrase/v1
metadata: {schema: metadata/Document/v1, name: ${name}, storagePolicy: ${policy}}
data: ${data}
`;
const substitution = (path: string, source = 'ipmi', more = '') =>
  `{src: {schema: deckhand/Passphrase/v1, name: ${source}, path: .}, dest: {path: ${path}${more}}}`;
const node = (substitutions: readonly string[], oob = 'account: root') => `---
schema: drydock/BaremetalNode/v1
metadata:
  schema: metadata/Document/v1
  name: n1
  substitutions: [${substitutions.join(', ')}]
data:
  oob: {type: redfish, address: 'https://192.0.2.9', ${oob}}
  interfaces: {eth0: {mac: '52:54:00:00:0a:77'}}
  platform: {image: 'http://images.example/demo.raw', checksum: 'http://images.example/SHA256SUMS'}
`;
const faultsOf = (text: string) =>
  (JSON.parse(text) as { details: { messageList: { name: string; message: string; level: string }[] } }).details
    .messageList;
const errorsOf = ({ text }: { text: string }) =>
  faultsOf(text).flatMap(({ level, ...each }) => (level === 'Error' ? [each] : []));

test("a BMC's password comes of an encrypted document, and no reader sees it", async () => {
  const text = `# ours\n${passphrase(password)}${node([substitution('.oob.credential')])}`;
  const uploaded = await upload(text);
  expect([uploaded.status, errorsOf(uploaded)]).toEqual([201, []]);
  expect(found([uploaded.text, ...(await dumpDatabase(api.api.context.db))])).toEqual([]);
  const shown = ['/configdocs/site', '/revisions/1/documents', '/revisions/0/deepdiff/1', '/renderedconfigdocs'];
  for (const path of shown) {
    const answer = await ask('reader', 'GET', path);
    expect([path, answer.status]).toEqual([path, 200]);
    expect(found([answer.text])).toEqual([]);
  }
  const rendered = await ask('reader', 'GET', '/renderedconfigdocs');
  expect(rendered.text).toMatch(/account: root\n\s+credential: "?\*{6}"?/);
});

test('administrators get it when they ask for it, byte for byte, and nobody else', async () => {
  const text = `# ours\n${passphrase(password)}${node([substitution('.oob.credential')])}`;
  await upload(text);
  expect(await ask('admin', 'GET', '/configdocs/site?cleartext-secrets=true')).toEqual({ status: 200, text });
  const rendered = await ask('admin', 'GET', '/renderedconfigdocs?cleartext-secrets=true');
  expect(rendered.text.split(password)).toHaveLength(3);
  expect((await ask('admin', 'GET', '/configdocs/site')).text).not.toContain(password);
  for (const path of ['/configdocs/site', '/renderedconfigdocs']) {
    expect((await ask('member', 'GET', `${path}?cleartext-secrets=true`)).status).toBe(403);
  }
});

test('what has changed is told by a digest', async () => {
  await upload(passphrase(password) + passphrase(other, 'same'));
  expect((await upload(passphrase(password) + passphrase(other, 'same'))).status).toBe(200);
  await upload(`${passphrase(other)}${passphrase(other, 'same')}`);
  const { text } = await ask('reader', 'GET', '/revisions/1/deepdiff/2');
  const { document_changed } = JSON.parse(text) as {
    document_changed: { details: { name: string; changes: { path: string; old: string; new: string }[] }[] };
  };
  expect(document_changed.details.map(({ name, changes }) => [name, changes.map(({ path }) => path)])).toEqual([
    ['ipmi', ['data']],
  ]);
  const [change] = document_changed.details[0]?.changes ?? [];
  expect([change?.old, change?.new].join()).toMatch(/^[0-9a-f]{64},[0-9a-f]{64}$/);
});

test.each([
  ['a label', [substitution('.metadata.owner_data.rack')], 'SecretPlace'],
  ['part of an image', [substitution('.platform.image', 'ipmi', ', pattern: images.example')], 'SecretPlace'],
  ['the user of a BMC', [substitution('.oob.account'), substitution('.oob.credential')], 'SecretPlace'],
])('it is refused as %s, without repeating it', async (_, substitutions, fault) => {
  const uploaded = await upload(passphrase(password) + node(substitutions));
  expect(errorsOf(uploaded).map(({ name }) => name)).toContain(fault);
  expect(found([uploaded.text])).toEqual([]);
});

test.each([
  [
    'of a passphrase that calls itself cleartext',
    passphrase(password, 'ipmi', 'cleartext') + node([substitution('.oob.credential')]),
  ],
  ['in the node’s own document', node([], `account: root, credential: ${password}`)],
  [
    'in its profile',
    `${node([], 'network: oob').replace('\ndata:', '\ndata:\n  host_profile: p')}---
schema: drydock/HostProfile/v1
metadata: {schema: metadata/Document/v1, name: p}
data: {oob: {account: root, credential: ${password}}}
`,
  ],
])('a password %s is sealed at once, with a warning', async (_, text) => {
  const uploaded = await upload(text);
  expect([uploaded.status, errorsOf(uploaded)]).toEqual([201, []]);
  const warned = faultsOf(uploaded.text).filter(({ name }) => name === 'SealedSecret');
  expect(warned.map(({ level }) => level)).toEqual(['Warning']);
  expect(found([uploaded.text, ...(await dumpDatabase(api.api.context.db))])).toEqual([]);
  for (const path of ['/configdocs/site', '/revisions/1/documents', '/revisions/0/deepdiff/1', '/renderedconfigdocs']) {
    expect(found([(await ask('admin', 'GET', path)).text])).toEqual([]);
  }
  expect((await ask('admin', 'GET', '/configdocs/site?cleartext-secrets=true')).text).toBe(text);
  const { site } = await checkRevision(api.api.context, 1);
  expect(site?.nodes.get('n1')?.login).toEqual({ username: 'root', password });
  // what has changed is told, and not what it was
  expect((await upload(text.replace(password, other))).status).toBe(201);
  const changed = (await ask('reader', 'GET', '/revisions/1/deepdiff/2')).text;
  expect([changed.includes('document_changed'), found([changed])]).toEqual([true, []]);
});

test('what an earlier release has stored in clear is shown to nobody', async () => {
  const { db } = api.api.context;
  const text = passphrase(password, 'ipmi', 'cleartext') + node([], `account: root, credential: ${other}`);
  await upload(text);
  const { documents } = await parseUpload(text);
  await db.update(siteContents).set({ text, documents });
  for (const path of ['/configdocs/site', '/revisions/1/documents', '/revisions/0/deepdiff/1', '/renderedconfigdocs']) {
    const answer = await ask('reader', 'GET', path);
    expect([path, answer.status, found([answer.text])]).toEqual([path, 200, []]);
  }
  expect((await ask('admin', 'GET', '/configdocs/site?cleartext-secrets=true')).text).toBe(text);
  // what has changed is told by digests alone
  expect((await upload(text.replace(password, 'third'))).status).toBe(201);
  const changed = (await ask('reader', 'GET', '/revisions/1/deepdiff/2')).text;
  expect([changed.includes('"name":"ipmi"'), found([changed])]).toEqual([true, []]);
});

test('beside an account the name of a stored credential means that credential, with a warning', async () => {
  await ask('admin', 'PUT', '/credentials/rack1', JSON.stringify({ username: 'admin', password }));
  const uploaded = await upload(node([], 'account: root, credential: rack1'));
  const reported = faultsOf(uploaded.text).map(({ name, message }) => `${name}: ${message}`);
  expect([uploaded.status, reported.filter((each) => /oob|credential/.test(each))]).toEqual([
    201,
    [expect.stringContaining('is not used: user and password are those of the stored credential rack1')],
  ]);
  const read = (await checkRevision(api.api.context, 1)).site?.nodes.get('n1');
  expect([read?.credential, read?.login]).toEqual(['rack1', undefined]);
  await ask('admin', 'DELETE', '/credentials/rack1');
});

test('a password needs its user', async () => {
  const withoutUser = await upload(passphrase(password) + node([substitution('.oob.credential')], 'network: oob'));
  expect(errorsOf(withoutUser).map(({ message }) => message)).toEqual([
    'account is missing: the user that the password in credential is of',
  ]);
  expect(errorsOf(await upload(passphrase(password, 'ipmi', 'secret')))[0]?.message).toContain(
    'metadata.storagePolicy must be cleartext or encrypted',
  );
});

test('a document that Baton works from is not encrypted as a whole', async () => {
  const uploaded = await upload(node([]).replace('name: n1', 'name: n1\n  storagePolicy: encrypted'));
  expect(uploaded.status).toBe(400);
  expect(uploaded.text).toContain('substitute it from there');
});
