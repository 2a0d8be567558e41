import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { findRequestedImage } from '#conductor/flows/plan/find-planned-image.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';
import { type Answer, type FakeRegistry, startFakeRegistry } from '#shared/oci/testing/fake-registry.ts';
import { parseOutboundAllowList } from '#shared/peers/outbound-url.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let registry: FakeRegistry;
let node: NodeRow;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  registry = await startFakeRegistry();
  await api.reset();
  const instanceInfo = { image_source: `oci://${registry.host}/disks/debian:12` };
  await api.call('POST', '/v1/nodes', { driver: 'redfish', name: 'n1', instance_info: instanceInfo });
  node = await getNode(api.context.db, 'n1');
});
afterEach(() => registry[Symbol.asyncDispose]());
afterAll(() => api.close());

/** Asks as a caller of a project, or of none, and gives the fault. */
async function faultFor(
  project: string | undefined,
  { allow = '', limitMs = 10_000, of = node } = {},
): Promise<string> {
  const { config } = api.context;
  const images = {
    setting: 'BATON_IMAGE_URL_ALLOW',
    allow: allow === '' ? undefined : parseOutboundAllowList(allow),
    allowLoopback: true,
    connectsHere: true,
  };
  const context = {
    ...api.context,
    config: {
      ...config,
      registries: { ...config.registries, plainHttp: new Set([registry.host]) },
      outbound: { ...config.outbound, images },
    },
  };
  try {
    await findRequestedImage(context, of, 'deploy', { project, limitMs });
    return 'none';
  } catch (error) {
    return `${errorCode(error)}: ${errorChain(error)}`;
  }
}

const json = (document: object): Answer => {
  const text = JSON.stringify(document);
  return (_request, response) => response.writeHead(200).end(text);
};
const both = ['amd64', 'arm64'].map((architecture, place) => ({
  digest: `sha256:${`${place}`.repeat(64)}`,
  size: 1,
  platform: { architecture },
}));
const deep = '['.repeat(40);
const answers: readonly (readonly [string, Answer, RegExp])[] = [
  ['no such image', (_request, response) => response.writeHead(404).end(), /^invalid_argument: .*no such image/],
  ['a refusal', (_request, response) => response.writeHead(403).end(), /^invalid_argument: .*answers 403/],
  ['a web page', (_request, response) => response.writeHead(200).end('<html>'), /^invalid_argument: .*neither layers/],
  ['deep JSON', (_request, response) => response.writeHead(200).end(deep), /^invalid_argument: .*JSON deeper than/],
  [
    'a redirect to elsewhere',
    (_request, response) => response.writeHead(302, { Location: 'http://169.254.169.254/' }).end(),
    /^forbidden: .*169\.254\.169\.254/,
  ],
  ['an index for several architectures', json({ manifests: both }), /^invalid_argument: .*amd64, arm64: .*decides/],
  ['an old manifest', json({ schemaVersion: 1 }), /^not_supported: .*schema version 1/],
  ['a cut connection', (request) => request.socket.destroy(), /^unavailable: /],
];

test.each(answers)('%s is named to callers of no project, and where a list says what is fetched', async (...given) => {
  const [, answer, said] = given;
  registry.answerNext(answer);
  expect(await faultFor(undefined)).toMatch(said);
  registry.answerNext(answer);
  expect(await faultFor('ours', { allow: '127.0.0.1' })).toMatch(said);
});

test('callers of a project are not told what is in the networks of the conductor', async () => {
  const faults = new Set<string>();
  for (const [, answer] of answers) {
    registry.answerNext(answer);
    faults.add(await faultFor('ours'));
  }
  expect([...faults]).toEqual([
    'invalid_argument: instance_info.image_source can not be read: ' +
      "a project's callers get the reason where BATON_IMAGE_URL_ALLOW says what may be fetched",
  ]);
});

test('a fault of what they have written themselves is named to them, and nobody is asked', async () => {
  const written = { ...node, instanceInfo: { ...node.instanceInfo, image_pull_secret: 'x' } };
  expect(await faultFor('ours', { of: written })).toMatch(
    /^invalid_argument: instance_info\.image_pull_secret must be/,
  );
  expect(registry.requests).toEqual([]);
});

test('a registry that never answers is one that may answer later', async () => {
  registry.answerNext(() => undefined);
  expect(await faultFor(undefined, { limitMs: 50 })).toMatch(/^unavailable: .*no whole answer within 0\.05 s/);
});
