import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFault } from '#conductor/cli/shell/render-status.ts';
import { type ApiDocument, type FuzzedRequest, requestsOf } from '#test/fuzz/api-requests.ts';
import * as fc from '#test/fuzz/fast-check.ts';
import { fuzzRuns, reportFuzz } from '#test/fuzz/fuzz-runs.ts';
import { hostileText } from '#test/fuzz/schema-values.ts';
import { type ApiWithCallers, everybody, openApiWithCallers, type Who } from '#test/support/api-with-callers.ts';
import { textOf } from '#test/support/text-of.ts';

/** Every operation of the API's document, by every caller: whatever is sent, the answer is one that is meant. */

/** Milliseconds; far more than any takes on a busy machine. */
const patienceMs = 240_000;
const callers = [...everybody, 'nobody'] as const;

interface Answer {
  readonly status: number;
  readonly text: string;
}

let stage: ApiWithCallers;
let document: ApiDocument;
const known: Record<string, string[]> = {};
const counts = new Map<number, number>();
/** Errors that servers behind the conductor were said to have failed with. */
const meant = new Set<string>();

beforeAll(async () => {
  stage = await openApiWithCallers();
  document = (await stage.as('admin', 'GET', '/openapi.json')).body as unknown as ApiDocument;
  const { uuid } = await stage.as('admin', 'GET', '/v1/nodes/mine');
  known['node'] = ['mine', 'foreign', uuid];
  known['node_uuid'] = known['node_ident'] = known['node'];
  for (const [name, path, list] of [
    ['port', '/v1/ports', 'ports'],
    ['portgroup', '/v1/portgroups', 'portgroups'],
    ['volume', '/v1/volume/targets', 'targets'],
  ] as const) {
    const { body } = await stage.as('admin', 'GET', path);
    known[name] = (body[list] as { uuid: string }[]).map((each) => each.uuid);
  }
  known['driver'] = ['fake-hardware', 'redfish', 'idrac', 'ipmi'];
  known['collection'] = known['revision'] = known['version'] = ['1', 'site'];
  known['limit'] = ['1', '1000', '-1', '9007199254740993'];
  known['address'] = ['52:54:00:00:00:01'];
});
afterAll(() => stage.api.close());

/** Things that are there, or nearly. */
const namesOf = (name: string): fc.Arbitrary<string> => {
  const names = [...(known[name] ?? known['node'] ?? []), 'x', '1'];
  return fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: hostileText });
};

async function send({ method, path, version, body }: FuzzedRequest, who: Who | 'nobody'): Promise<Answer> {
  const { promise: tooLong, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer in ${patienceMs / 1000} s`)), patienceMs);
  try {
    const headers = {
      'X-OpenStack-Ironic-API-Version': version,
      ...(who === 'nobody' ? {} : stage.headersOf(who)),
      ...(body === undefined ? {} : { 'Content-Type': body.type }),
    };
    const sendable = method === 'GET' || body === undefined ? {} : { body: body.text };
    const answered = stage.api.request(path, { method, headers, ...sendable });
    // to its end: a file that is not read to it stays open
    const read = answered.then(async (answer) => ({ status: answer.status, text: await textOf(answer) }));
    return await Promise.race([read, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

/** Servers behind the conductor may fail to answer; its own code and database may not. */
function fault({ status, text }: Answer): string | undefined {
  if (status < 500) return undefined;
  const said = readFault(text).message ?? text;
  return /Internal error|database/.test(said) ? `${status}: ${said}` : undefined;
}

test('no request makes the conductor fail', async () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ path, method })),
  );
  expect(operations.length).toBeGreaterThan(150);
  const requests = fc.tuple(
    fc.oneof(...operations.map((operation) => requestsOf(document, operation, namesOf))),
    fc.constantFrom(...callers),
  );
  const property = fc.asyncProperty(requests, async ([request, who]) => {
    const answer = await send(request, who);
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
    if (answer.status >= 500) meant.add(`${answer.status}: ${readFault(answer.text).message ?? answer.text}`);
    expect(fault(answer)).toBeUndefined();
  });
  await fc.assert(property, fuzzRuns(2000));
  const answers = [...counts].toSorted(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
  reportFuzz(`requests: ${answers.join(', ')}`);
  for (const each of meant) reportFuzz(`meant: ${each}`);
  // else nothing got past the door
  const passed = [...counts].reduce((sum, [status, count]) => sum + (status < 300 ? count : 0), 0);
  expect(passed).toBeGreaterThan(100);
});
