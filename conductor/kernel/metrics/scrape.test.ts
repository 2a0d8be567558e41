import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import { createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { scrape } from '#conductor/kernel/metrics/scrape.ts';
import { parseMetrics } from '#test/support/parse-metrics.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

/** Without a conductor of their groups. */
async function insertNodes(groups: readonly string[]): Promise<string[]> {
  const base = { driver: 'fake-hardware', networkInterface: 'noop', provisionState: 'enroll' } as const;
  const rows = groups.map((conductorGroup) => ({ ...base, conductorGroup, uuid: randomUUID() }));
  await api.context.db.insert(nodes).values(rows);
  return rows.map((row) => row.uuid);
}

describe('the fleet', () => {
  test('counts nodes by state, and how long those at work have been there', async () => {
    const { db } = api.context;
    await insertNodes(['', 'east', 'east']);
    const [uuid] = await insertNodes(['east']);
    const provisionUpdatedAt = new Date(Date.now() - 3_700_000);
    await db.update(nodes).set({ provisionState: 'deploying', provisionUpdatedAt });
    await db.update(nodes).set({ maintenance: true, fault: 'power failure' });
    await db.update(nodes).set({ maintenance: false, fault: null });
    await api.call('PUT', `/v1/nodes/${uuid}/maintenance`, {});
    await db.insert(nodeTpms).values({ nodeUuid: uuid ?? '', ekPublic: '', verdict: 'changed', reasons: [] });

    const samples = parseMetrics(await scrape(api.context));
    expect(samples.get('baton_nodes{provision_state="deploying",maintenance="false",conductor_group="east"}')).toBe(2);
    expect(samples.get('baton_nodes{provision_state="deploying",maintenance="true",conductor_group="east"}')).toBe(1);
    expect(samples.get('baton_node_state_seconds_max{provision_state="deploying"}')).toBeGreaterThan(3_690);
    expect(samples.get('baton_nodes_lingering{provision_state="deploying",over_seconds="3600"}')).toBe(3);
    expect(samples.get('baton_nodes_lingering{provision_state="deploying",over_seconds="21600"}')).toBe(0);
    expect(samples.get('baton_attestation_verdicts{verdict="changed"}')).toBe(1);
    expect(samples.get('baton_database_up')).toBe(1);

    await api.reset();
    const after = parseMetrics(await scrape(api.context));
    expect([...after.keys()].filter((key) => key.startsWith('baton_nodes{'))).toEqual([]);
  });

  test('more conductor groups than can be told apart are counted together', async () => {
    const { db } = api.context;
    await insertNodes(Array.from({ length: 53 }, (_, group) => `group-${group}`));
    const samples = parseMetrics(await scrape(api.context));
    const series = [...samples].filter(([key]) => key.startsWith('baton_nodes{'));
    expect(series).toHaveLength(51);
    expect(series.reduce((sum, [, value]) => sum + value, 0)).toBe(53);
    await db.delete(nodes);
  });

  test('a database that is away costs its figures, not the rest', async () => {
    const metrics = createMetrics();
    metrics.heartbeats.inc({ outcome: 'taken' });
    const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' });
    const db = { execute: () => Promise.reject(away) } as unknown as TestApi['context']['db'];
    const samples = parseMetrics(await scrape({ ...api.context, db, metrics }));
    expect(samples.get('baton_database_up')).toBe(0);
    expect(samples.get('baton_database_faults_total{class="connection"}')).toBe(1);
    expect(samples.get('baton_agent_heartbeats_total{outcome="taken"}')).toBe(1);
    expect([...samples.keys()].filter((key) => key.startsWith('baton_nodes'))).toEqual([]);
  });
});

test('agents may bring as many steps as they like', () => {
  const metrics = createMetrics();
  const labels = Array.from({ length: 300 }, (_, n) => metrics.stepLabel({ interface: 'deploy', step: `s${n}` }));
  expect(new Set(labels).size).toBe(201);
  expect(metrics.stepLabel({ interface: 'deploy', step: 's0' })).toBe('deploy.s0');
});

test('requests are counted by the pattern of their path', async () => {
  await api.call('GET', '/v1/nodes/nobody-knows-it');
  await api.call('GET', '/v1/nodes/nor-this');
  await api.call('BREW', '/coffee');
  const answer = await api.call('GET', '/healthz');
  expect(answer.headers.get('X-OpenStack-Request-ID')).toMatch(/^req-/);
  const samples = parseMetrics(await scrape(api.context));
  const count = (labels: string) => samples.get(`baton_http_request_duration_seconds_count{${labels}}`);
  expect(count('method="GET",route="/v1/nodes/:node",status="404"')).toBe(2);
  expect(count('method="other",route="none",status="404"')).toBe(1);
  expect(count('method="GET",route="/healthz",status="200"')).toBe(1);
});
