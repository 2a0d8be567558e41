import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeFile, lookAtImage } from '#conductor/flows/plan/look-at-image.ts';
import type { PlannedStep } from '#conductor/model/flows/planned-step.ts';
import type { KnownDisk } from '#conductor/model/known-disk.ts';
import { type OutboundRules, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';

const rules: OutboundRules = {
  setting: 'BATON_IMAGE_URL_ALLOW',
  allow: undefined,
  allowLoopback: true,
  connectsHere: true,
};
const write = [{ interface: 'deploy', step: 'write_image' }] as unknown as PlannedStep[];
const asked: string[] = [];
let server: Server;
let base = '';

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (request.url === '/disk.raw') response.writeHead(200, { 'content-length': 5000 }).end();
    else if (request.url === '/page') response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end();
    else if (request.url === '/signed.raw?key=1') {
      const isGet = request.method === 'GET' && request.headers.range === 'bytes=0-0';
      response.writeHead(isGet ? 206 : 403, isGet ? { 'content-range': 'bytes 0-0/9000' } : {}).end(isGet ? 'x' : '');
    } else if (request.url === '/secret') response.writeHead(403).end();
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const look = (instanceInfo: Record<string, string>, sizeBytes = 7000) => {
  const disk = { name: '/dev/sda', sizeBytes } as KnownDisk;
  return lookAtImage(
    { steps: write, destroys: { disks: [{ disk, by: ['deploy.write_image'] }] }, instanceInfo },
    rules,
  );
};

test('an image that is there and fits is looked at, and nothing said', async () => {
  expect(await look({ image_source: `${base}/disk.raw` })).toEqual([]);
  expect(asked.splice(0)).toEqual(['HEAD /disk.raw']);
});

test.each([
  [
    'missing, and its checksum file',
    { image_source: '/no', image_checksum: '/SUMS' },
    [/^The image .*\/no is not there: its server answers 404\.$/, /^The checksum file .*\/SUMS is not there/],
  ],
  ['given out to nobody', { image_source: '/secret' }, [/\/secret is not given out: its server answers 403/]],
  ['a web page', { image_source: '/page' }, [/\/page is a web page \(text\/html; charset=utf-8\), not an image/]],
  [
    'too large, by a URL for GET alone',
    { image_source: '/signed.raw?key=1' },
    [/\/signed\.raw has 9000 bytes, .* 7000: it does not fit/],
  ],
])('an image that is %s', async (_, paths, sentences) => {
  const info = Object.fromEntries(Object.entries(paths).map(([key, path]) => [key, `${base}${path}`]));
  const found = await look(info);
  expect(found).toEqual(sentences.map((sentence) => expect.stringMatching(sentence) as unknown));
  expect(found.join()).not.toContain('key=1');
});

test('a server that does not answer is no missing image', async () => {
  expect(await look({ image_source: 'http://127.0.0.1:9/disk.raw' })).toEqual([
    expect.stringMatching(/can't be looked at from the conductor \(.*ECONNREFUSED.*\): the machine fetches it itself/),
  ]);
});

test('a server that asks for a login has not refused the machine', async () => {
  expect(await look({ image_source: `${base}/secret` })).toEqual([expect.stringContaining('is not known')]);
});

test('plans that are made together look once at a URL, and again after a minute', async () => {
  asked.length = 0;
  const own = { ...rules };
  const wanted = { steps: write, destroys: { disks: [] }, instanceInfo: { image_source: `${base}/no` } };
  const plans = Array.from({ length: 8 }, () => lookAtImage(wanted, own, { now: 0 }));
  const found = await Promise.all([...plans, lookAtImage(wanted, own, { now: 59_999 })]);
  expect(found.flat()).toHaveLength(9);
  expect(asked.splice(0)).toEqual(['HEAD /no']);
  await lookAtImage(wanted, own, { now: 60_000 });
  expect(asked).toEqual(['HEAD /no']);
});

test('no more URLs are remembered than there is room for', async () => {
  asked.length = 0;
  const own = { ...rules };
  const lookAt = (path: string) =>
    lookAtImage({ steps: write, destroys: { disks: [] }, instanceInfo: { image_source: `${base}${path}` } }, own, {
      now: 0,
    });
  await lookAt('/first');
  for (let number = 0; number < 200; number += 1) await lookAt(`/${number}`);
  await lookAt('/199');
  expect(asked).toHaveLength(201);
  await lookAt('/first');
  expect(asked).toHaveLength(202);
});

test('nobody bound to a project learns by a plan what is in the networks of the conductor', async () => {
  asked.length = 0;
  const lookFor = (url: string, allow?: OutboundRules['allow']) =>
    lookAtImage(
      { steps: write, destroys: { disks: [] }, instanceInfo: { image_source: url } },
      { ...rules, allow },
      { project: 'p1' },
    );
  const closed = 'http://127.0.0.1:9/a';
  const [open, shut] = [await lookFor(`${base}/disk.raw`), await lookFor(closed)];
  expect(open).toEqual([expect.stringMatching(/is not looked at .* BATON_IMAGE_URL_ALLOW/)]);
  expect(shut.join().replace(closed, '')).toBe(open.join().replace(`${base}/disk.raw`, ''));
  expect(asked).toEqual([]);
  // where the operators have said what may be fetched
  const allow = parseOutboundAllowList('127.0.0.1');
  expect(await lookFor(`${base}/no`, allow)).toEqual([expect.stringContaining('is not there')]);
  expect((await lookFor(closed, allow)).join()).toMatch(/can't be looked at from the conductor: the machine/);
});

test('a URL that the rules refuse is not called', async () => {
  asked.length = 0;
  const strict = { ...rules, allowLoopback: false };
  const wanted = { steps: write, destroys: { disks: [] }, instanceInfo: { image_source: `${base}/disk.raw` } };
  expect(await lookAtImage(wanted, strict)).toEqual([expect.stringContaining('BATON_IMAGE_URL_ALLOW')]);
  expect(asked).toEqual([]);
});

test('an address without a host is a sentence, too', async () => {
  expect(await look({ image_source: 'http:' })).toEqual([
    expect.stringMatching(/^The image an invalid URL can't be looked at/),
  ]);
});

test('nothing is asked where no image is written', async () => {
  asked.length = 0;
  const none = { steps: [], destroys: { disks: [] }, instanceInfo: { image_source: `${base}/no` } };
  expect(await lookAtImage(none, rules)).toEqual([]);
  expect(await lookAtImage({ ...none, steps: write, facts: { isFake: true } }, rules)).toEqual([]);
  expect(asked).toEqual([]);
});

test.each([
  ['a redirect', { status: 302, bytes: 0 }, '/a.raw', undefined],
  ['an image in chunks', { status: 200, bytes: 9000 }, '/a.caibx', undefined],
  ['a disk of unknown size', { status: 200, bytes: 9000 }, '/a.raw', null],
  ['a size that is not given', { status: 200, bytes: undefined }, '/a.raw', undefined],
])('%s says nothing that is certain', (_, answer, url, room) => {
  const image = { url, room: room === null ? undefined : 7000 };
  expect(describeFile('It', { type: undefined, ...answer }, image)).toBeUndefined();
});

test('an empty file is no image', () => {
  expect(describeFile('It', { status: 200, type: undefined, bytes: 0 })).toBe('It is empty.');
});
