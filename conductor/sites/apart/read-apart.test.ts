import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { newReadApart } from '#conductor/sites/apart/read-apart.ts';
import { readSite } from '#conductor/sites/documents/read-site.ts';
import { goodNode, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { renderLayers } from '#conductor/sites/rendering/render-layers.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site.ts';

const parsed = (yaml: string): SiteDocument[] =>
  parseDocuments(yaml).documents.map((document) => siteDocument('site', document));

/** A chart whose greeting has a part of a source's text, found by a pattern. */
function charts(text: string, pattern: string): string {
  return `---
schema: test/Source/v1
metadata: {schema: metadata/Document/v1, name: source}
data: {text: '${text}'}
---
schema: test/Chart/v1
metadata:
  schema: metadata/Document/v1
  name: chart
  substitutions:
    - src: {schema: test/Source/v1, name: source, path: .text, pattern: '${pattern}'}
      dest: {path: .greeting}
data: {}
`;
}

test('what is read on the thread is as it is read here', async () => {
  const readApart = newReadApart({ idleMs: 0 });
  const schema = yamlOf('deckhand/DataSchema/v1', 'test/Chart/v1', 'type: object\nrequired: [name]');
  const documents = parsed(goodNode() + schema + charts('hello world', 'w.*d'));
  const [site, rendered] = await Promise.all([
    readApart('readSite', documents, { credentials: ['bmc'] }),
    readApart('renderLayers', documents),
  ]);
  expect(site).toEqual(readSite(documents, { credentials: ['bmc'] }));
  expect(site.site?.nodes.get('n1')?.name).toBe('n1');
  expect(site.faults.map(({ name }) => name)).toContain('SchemaViolation');
  expect(rendered).toEqual(renderLayers(documents));
  expect(rendered.documents.find(({ name }) => name === 'chart')?.data).toEqual({ greeting: 'world' });
});

const hostile = charts('x'.repeat(40), '(x+x+)+y');

test('a pattern that takes too long is given up, and everybody else goes on meanwhile', async () => {
  let beats = 0;
  const beat = setInterval(() => (beats += 1), 1);
  const reading = newReadApart()('renderLayers', parsed(hostile));
  let beatsOnThread = 0;
  const { faults } = await reading.finally(() => (beatsOnThread = beats));
  clearInterval(beat);
  expect(faults.map(({ message }) => message)).toEqual([
    expect.stringContaining('pattern "(x+x+)+y" takes too long to be searched for'),
  ]);
  // here it would hold them all up for as long as it is looked for
  expect(beatsOnThread).toBeGreaterThan(1);
});

test('what takes too long in all is refused, and the next is read on a thread of its own', async () => {
  const readApart = newReadApart({ timeoutMs: 1, idleMs: 0 });
  await expect(readApart('renderLayers', parsed(hostile))).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('reading the documents takes longer than 0.001 s') as unknown,
  });
  // few and plain: read here
  expect(await readApart('renderLayers', parsed(goodNode()))).toEqual(renderLayers(parsed(goodNode())));
});

test('those that would wait behind too many are refused, and those who wait are read', async () => {
  const readApart = newReadApart({ waiting: 1, idleMs: 0 });
  const documents = parsed(charts('hello world', 'w.*d'));
  const read = [1, 2, 3].map(() => readApart('renderLayers', documents));
  const ends = await Promise.allSettled(read);
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  await expect(read[2]).rejects.toMatchObject({
    code: 'unavailable',
    message: 'documents of others are being read; try again in a minute',
  });
});

const apart = parsed(charts('hello world', 'w.*d'));
/** A thread that answers `read`, and then does this. */
const threadThat = (text: string): URL =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ work }) => { ${text} });`)}`,
  );

test('what takes too much memory is refused, and the next is read', async () => {
  const program = threadThat(`const all = [];
    while (work === 'renderSite') all.push(Array.from({ length: 1000 }, (_, index) => ({ index })));
    parentPort.postMessage({ made: 'read' });`);
  const readApart = newReadApart({ memoryMb: 32, program });
  for (let count = 0; count < 2; count += 1) {
    await expect(readApart('renderSite', apart)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'reading the documents takes more than 32 MB of memory',
    });
    expect(await readApart('renderLayers', apart)).toBe('read');
  }
});

test('a thread that ends while nobody waits for it is begun again', async () => {
  const program = threadThat(`parentPort.postMessage({ made: 'read' });
    setImmediate(() => { throw new Error('amid nothing'); });`);
  const readApart = newReadApart({ program });
  for (let count = 0; count < 2; count += 1) {
    const begun = once(process, 'worker') as Promise<[Worker]>;
    const reading = readApart('renderLayers', apart);
    const [worker] = await begun;
    const ended = new Promise((resolve) => {
      worker.once('exit', resolve);
    });
    expect(await reading).toBe('read');
    await ended;
  }
});

test('an answer counts though the thread dies as soon as it has sent it', async () => {
  const program = threadThat("parentPort.postMessage({ made: 'read' }); throw new Error('amid nothing');");
  for (let count = 0; count < 20; count += 1) {
    expect(await newReadApart({ program })('renderLayers', apart)).toBe('read');
  }
});
