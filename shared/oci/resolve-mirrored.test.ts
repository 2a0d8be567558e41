import { afterEach, beforeEach, expect, test } from 'vitest';
import { errorChain } from '#shared/errors/app-error.ts';
import { parseOciReference } from '#shared/oci/reference.ts';
import { resolveMirrored } from '#shared/oci/resolve-mirrored.ts';
import { type FakeRegistry, startFakeRegistry } from '#shared/oci/testing/fake-registry.ts';
import { createInstantClock } from '#test/support/instant-clock.ts';

let registry: FakeRegistry;
let mirror: FakeRegistry;
let logins: string[];
beforeEach(async () => {
  registry = await startFakeRegistry();
  mirror = await startFakeRegistry();
  logins = [];
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await mirror[Symbol.asyncDispose]();
});

const manifest = (title: string): object => ({
  layers: [
    {
      mediaType: 'application/octet-stream',
      digest: `sha256:${'f'.repeat(64)}`,
      size: 1000,
      annotations: { 'org.opencontainers.image.title': title },
    },
  ],
});

function resolve(tag: string) {
  return resolveMirrored(
    parseOciReference(`oci://${registry.host}/disks/debian:${tag}`, 'image_source'),
    undefined,
    {
      clock: createInstantClock(),
      signal: new AbortController().signal,
      checkUrl: () => undefined,
      plainHttp: new Set([registry.host, mirror.host]),
      loginFor: (asked) => {
        logins.push(asked);
        return Promise.resolve(undefined);
      },
      loginAdvice: 'give one',
      archField: 'the architecture',
      patienceMs: 0,
    },
    new Map([[registry.host, { registry: mirror.host, prefix: 'copies/of' }]]),
  );
}

test('the mirror’s file is fetched, and what is pinned names the registry', async () => {
  const digest = mirror.put(manifest('a.raw'), '12');
  expect(await resolve('12')).toMatchObject({
    pinned: `oci://${registry.host}/disks/debian:12@${digest}`,
    url: `http://${mirror.host}/v2/copies/of/disks/debian/blobs/sha256:${'f'.repeat(64)}`,
  });
  expect(registry.requests).toEqual([]);
});

test.each<[string, () => unknown, readonly string[]]>([
  ['has no copy', () => undefined, []],
  ['is too busy', () => mirror.answerNext((_request, response) => response.writeHead(429).end()), []],
  ['wants a login that there is not', () => (mirror.challenge = 'Basic realm="x"'), ['mirror']],
])('a mirror that %s says nothing of the registry', async (_what, prepare, asked) => {
  prepare();
  registry.put(manifest('a.raw'), '12');
  expect(await resolve('12')).toMatchObject({ url: expect.stringContaining(`http://${registry.host}/v2/disks/`) });
  // logins are asked for by the host that wants one
  expect(logins).toEqual(asked.map(() => mirror.host));
});

test('an image of the mirror that is no disk is the answer', async () => {
  mirror.put({ layers: [] }, '12');
  await expect(resolve('12')).rejects.toMatchObject({ situation: 'image_unusable' });
  expect(registry.requests).toEqual([]);
});

test('where neither has it, both are named', async () => {
  const refusal: unknown = await resolve('12').catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'image_error', situation: 'image_missing' });
  expect(errorChain(refusal)).toMatch(
    new RegExp(
      `^oci://${registry.host}/disks/debian:12: .*its mirror failed before: oci://${mirror.host}/copies/of/disks`,
    ),
  );
});
