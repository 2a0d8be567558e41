import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '#conductor/http/app.ts';
import type { ApiApp } from '#conductor/http/define-routes.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { type ApiDocument, type Door, doorsOf } from '#test/support/door-bodies.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** The largest bodies at every door; `conductor/http/doors.test.ts` has those that are too large. */

let api: TestApi;
let document: ApiDocument;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_DISCOVERY: 'true', BATON_PUBLIC_FAILURES_PER_SECOND: '10000' } });
  document = (await api.call('GET', '/openapi.json', undefined, '')).body as unknown as ApiDocument;
});
afterAll(() => api.close());

const headers = { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.96' };

/** Where a door is not as it must be; `undefined` = it is. */
async function faultOf(app: ApiApp, { method, path }: Pick<Door, 'method' | 'path'>, body: string) {
  const answer = await app.request(`http://api.example${path}`, { method, body, headers });
  const text = await answer.text();
  // seed 001 answers a step on a cluster that is not there as a failed one
  const isKnown = answer.status === 500 && text.includes('NoKubernetesCluster');
  return (answer.status < 500 || isKnown) && text.length < 40_000
    ? undefined
    : `${answer.status}, ${text.length} characters: ${text.slice(0, 200)}`;
}

test('every operation bears the largest bodies that its row allows', async () => {
  const doors = doorsOf(document);
  expect(doors.length).toBeGreaterThan(90);
  await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' });
  const app = createApp(api.context);
  for (const door of doors)
    for (const [what, body] of Object.entries(door.bodies))
      expect([door.method, door.path, what, await faultOf(app, door, body)]).toEqual([
        door.method,
        door.path,
        what,
        undefined,
      ]);
});

test.each([
  ['nobody', undefined],
  ['a reader', { user: 'r', role: 'reader', project: undefined }],
  ['a member', { user: 'm', role: 'member', project: undefined }],
  ['a member of a project', { user: 'm', role: 'member', project: 'p' }],
  ['an administrator of a project', { user: 'a', role: 'admin', project: 'p' }],
] satisfies [string, Caller | undefined][])('the same for %s', async (_, unproven) => {
  const auth = { ...api.context.auth, unproven };
  const app = createApp({ ...api.context, auth });
  for (const door of doorsOf(document)) {
    for (const what of ['as many objects', 'as many unknown fields'])
      expect([door.method, door.path, what, await faultOf(app, door, door.bodies[what] ?? '')]).toEqual([
        door.method,
        door.path,
        what,
        undefined,
      ]);
  }
});
