import { randomUUID } from 'node:crypto';
import { apiHeaders, load } from '#test/bench/api/load.ts';
import type { MeasuredServer } from '#test/bench/api/server.ts';
import { type Figure, round } from '#test/bench/area.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import type { Operator } from '#test/support/operator.ts';

const asked = 500;
const concurrency = 32;

interface Allocation {
  readonly uuid: string;
  readonly state: string;
  readonly node_uuid: string | null;
}

/** From the first request until the last of them has its node. */
export async function measureAllocations(server: MeasuredServer): Promise<Record<string, Figure>> {
  const { conductor, operator, timed } = server;
  const seconds = await timed(
    'allocate',
    () => asked,
    async () => {
      const startedAt = performance.now();
      await load({
        url: conductor.url,
        connections: concurrency,
        next: (index) => {
          const body = JSON.stringify({ name: `wanted-${index}`, resource_class: 'baremetal' });
          return index < asked ? { method: 'POST', path: '/v1/allocations', body } : undefined;
        },
      });
      await settledAllocations(operator);
      return (performance.now() - startedAt) / 1000;
    },
  );
  const allocations = await settledAllocations(operator);
  const served = allocations.filter(({ state }) => state === 'active').length;
  if (served !== asked) throw new Error(`${served} of ${asked} allocations have a node`);
  await releaseAll(server, allocations);
  return { allocations_per_s: { value: round(asked / seconds), unit: '1/s' } };
}

async function settledAllocations(operator: Operator): Promise<readonly Allocation[]> {
  return waitUntil(
    'every allocation to be served',
    async () => {
      const answer = await operator.call('GET', '/v1/allocations?limit=1000&fields=uuid,state,node_uuid');
      const allocations = answer['allocations'] as readonly Allocation[];
      return allocations.some(({ state }) => state === 'allocating') ? undefined : allocations;
    },
    { timeoutMs: 120_000, everyMs: 50 },
  );
}

function releaseAll(
  { conductor }: Pick<MeasuredServer, 'conductor'>,
  allocations: readonly { readonly uuid: string }[],
) {
  return load({
    url: conductor.url,
    connections: 8,
    next: (index) => {
      const uuid = allocations[index]?.uuid;
      return uuid === undefined ? undefined : { method: 'DELETE', path: `/v1/allocations/${uuid}` };
    },
  });
}

/** Damage that one run with a killed conductor has left behind. */
export interface Damage {
  /** Nodes that two allocations call theirs, or whose own word differs from their allocation's. */
  readonly doubles: number;
  /** Requests that were answered 201, and are not an allocation with a node. */
  readonly lost: number;
}

/**
 * One run: requests to both conductors at once, one of which is killed amid them; a client without an answer asks the other
 * with the same UUID. There are more nodes than requests, so that each has to be served.
 */
export async function allocateThroughDeath(options: {
  readonly victim: MeasuredServer['conductor'];
  readonly survivor: Pick<MeasuredServer, 'conductor' | 'operator'>;
  readonly count: number;
  /** Answers that come before the blow. */
  readonly killAfter: number;
}): Promise<Damage> {
  const { victim, survivor, count, killAfter } = options;
  const wanted = Array.from({ length: count }, () => randomUUID());
  let answered = 0;
  let death: Promise<void> | undefined;
  await Promise.all(
    wanted.map(async (uuid, index) => {
      const first = index % 2 === 0 ? victim.url : survivor.conductor.url;
      await post(first, uuid).catch(() => post(survivor.conductor.url, uuid));
      answered += 1;
      if (answered === killAfter) death = victim.kill('SIGKILL');
    }),
  );
  await death;
  const allocations = await settledAllocations(survivor.operator);
  const page = await survivor.operator.call('GET', '/v1/nodes?limit=1000&fields=uuid,instance_uuid,allocation_uuid');
  const nodes = page['nodes'] as { uuid: string; instance_uuid: string | null; allocation_uuid: string | null }[];
  const owners = Map.groupBy(
    allocations.filter(({ state }) => state === 'active'),
    ({ node_uuid: node }) => node,
  );
  const doubles = nodes.filter((node) => {
    const claims = owners.get(node.uuid) ?? [];
    const [claim] = claims;
    return (
      claims.length > 1 || node.instance_uuid !== (claim?.uuid ?? null) || node.allocation_uuid !== node.instance_uuid
    );
  }).length;
  const served = new Set(allocations.filter(({ state }) => state === 'active').map(({ uuid }) => uuid));
  await victim.start();
  await releaseAll(survivor, allocations);
  return { doubles, lost: wanted.filter((uuid) => !served.has(uuid)).length };
}

/** @throws Error for no answer, and for any but 201 and 409: one that is there already came through before the death */
async function post(url: string, uuid: string): Promise<void> {
  const answer = await fetch(`${url}/v1/allocations`, {
    method: 'POST',
    headers: apiHeaders,
    body: JSON.stringify({ uuid, resource_class: 'baremetal' }),
  });
  await answer.arrayBuffer();
  if (answer.status !== 201 && answer.status !== 409) throw new Error(`POST /v1/allocations answered ${answer.status}`);
}
