import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readFault } from '#conductor/cli/shell/render-status.ts';
import { createApp } from '#conductor/http/app.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

interface Recorded {
  readonly sent_by: 'ironic-python-agent' | 'curl';
  readonly method: string;
  readonly path: string;
  /** Empty: the header was not sent. */
  readonly version: string;
  /** Whether the node was in a state in which its ramdisk runs. */
  readonly ramdisk_runs: boolean;
  readonly body: Readonly<Record<string, unknown>> | null;
  readonly status: number;
  readonly faultstring?: string;
  readonly answer?: unknown;
}

/** Requests that the real agent 10.2.0 and curl sent to real Ironic 29.0.5, and its answers. */
const recorded = JSON.parse(
  await readFile(new URL('recorded-agent-requests.json', import.meta.url), 'utf8'),
) as readonly Recorded[];

/** Ironic sends a lookup away while the node is locked; ours needs no lock, so that the agent needn't come back. */
function expectedStatus({ path, status }: Recorded): number {
  return path.startsWith('/v1/lookup') && status === 409 ? 200 : status;
}

/** Words may differ at the end, where the documents differ from the recording: agents look at the start. */
function startOf(faultstring = ''): string {
  return faultstring.replace(/ is required$| has been detected\.$/, '');
}

/** `config.metrics.backend string` for each leaf, of lists the first item. */
function shape(value: unknown, path = ''): string[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.length === 0 ? [`${path} list`] : shape(value[0], `${path}[]`);
  if (value === null || typeof value !== 'object') return [`${path} ${value === null ? 'null' : typeof value}`];
  return Object.entries(value).flatMap(([key, inner]) => shape(inner, path === '' ? key : `${path}.${key}`));
}

const uuid = 'c9228349-2174-4a1f-b5dd-1c6d659833c2';
const mac = '02:fc:00:00:00:01';
let api: TestApi;
let app: ReturnType<typeof createApp>;

beforeAll(async () => {
  api = await openTestApi();
  // the recorded Ironic took plain HTTP too
  app = createApp({ ...api.context, config: { ...api.context.config, requireAgentTls: false } });
});
beforeEach(async () => {
  await api.reset();
  await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', uuid });
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address: mac });
});
afterAll(() => api.close());

async function tokenOfBoot(): Promise<string> {
  const { body } = await api.call('GET', `/v1/lookup?addresses=${mac}`, undefined, '1.62');
  return String((body['config'] as Readonly<Record<string, unknown>>)['agent_token']);
}

describe('recorded requests of a real agent', () => {
  test('there are some', () => expect(recorded.length).toBeGreaterThan(12));

  test.each(recorded.map((request, index) => [index, request.method, request.path, request] as const))(
    '%i %s %s',
    async (_index, method, path, request) => {
      const state = request.ramdisk_runs ? 'clean wait' : 'manageable';
      await api.context.db.update(nodes).set({ provisionState: state });
      const asksFirst = request.ramdisk_runs && request.body !== null;
      const body = JSON.stringify(request.body)?.replaceAll('TOKEN', asksFirst ? await tokenOfBoot() : 'TOKEN');
      const answer = await app.request(`http://api.example${path}`, {
        method,
        headers: {
          'Content-Type': 'application/json',
          ...(request.version === '' ? {} : { 'X-OpenStack-Ironic-API-Version': request.version }),
        },
        ...(request.body === null ? {} : { body }),
      });
      const text = await answer.text();
      const ours = shape(JSON.parse(text === '' ? 'null' : text));
      const status = expectedStatus(request);
      expect(answer.status).toBe(status);
      expect(readFault(text).message ?? '').toContain(status < 400 ? '' : startOf(request.faultstring));
      expect(shape(request.answer).filter((leaf) => !ours.includes(leaf))).toEqual([]);
    },
  );
});
