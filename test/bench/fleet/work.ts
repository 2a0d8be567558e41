import type { Client } from 'pg';
import { waitUntil } from '#test/lab/wait-until.ts';
import { filledNode } from '#test/support/fill-fleet.ts';
import type { Operator } from '#test/support/operator.ts';

interface Worker {
  readonly operator: Operator;
  readonly database: Client;
  /** A node in this state that no other work has had. */
  readonly take: (state: FilledState) => { readonly name: string; readonly mac: string };
}

/** States as `fillFleet` deals them out. */
const states = ['enroll', 'manageable', 'available', 'available', 'active'] as const;
type FilledState = (typeof states)[number];

/** Requests of operators, clients and agents, each done on one node. */
export const work: Readonly<Record<string, (worker: Worker) => Promise<unknown>>> = {
  'show a node': ({ operator, take }) => operator.node(take('available').name),
  'list 100 nodes': ({ operator }) => operator.call('GET', '/v1/nodes?limit=100'),
  'list 100 nodes in detail': ({ operator }) => operator.call('GET', '/v1/nodes/detail?limit=100'),
  'list the ports of a node': ({ operator, take }) => operator.call('GET', `/v1/nodes/${take('available').name}/ports`),
  'find a port': ({ operator, take }) => operator.call('GET', `/v1/ports?address=${take('available').mac}`),
  'list the history of a node': ({ operator, take }) =>
    operator.call('GET', `/v1/nodes/${take('available').name}/history`),
  'patch a node': ({ operator, take }) =>
    operator.call('PATCH', `/v1/nodes/${take('manageable').name}`, [{ op: 'add', path: '/extra/x', value: 1 }]),
  'set maintenance': ({ operator, take }) =>
    operator.call('PUT', `/v1/nodes/${take('manageable').name}/maintenance`, { reason: 'slope' }),
  'create a node': ({ operator, take }) =>
    operator.call('POST', '/v1/nodes', { name: `new-${take('active').name}`, driver: 'fake-hardware' }),
  manage: (worker) => move(worker, 'enroll', 'manage', 'manageable'),
  provide: (worker) => move(worker, 'manageable', 'provide', 'available'),
  deploy: (worker) => move(worker, 'available', 'active', 'active'),
  undeploy: (worker) => move(worker, 'active', 'deleted', 'available'),
  'switch power': async ({ operator, take }) => {
    const { name } = take('manageable');
    await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power on' });
    await waitUntil(
      'power to be on',
      async () => (await operator.node(name))['power_state'] === 'power on' || undefined,
    );
  },
  allocate: async ({ operator }) => {
    const { uuid } = await operator.call('POST', '/v1/allocations', { resource_class: 'class2' });
    await waitUntil('a node', async () => {
      const { state } = await operator.call('GET', `/v1/allocations/${String(uuid)}`);
      return state === 'active' || undefined;
    });
  },
  'look up and beat': async ({ operator, database, take }) => {
    const { name, mac } = take('manageable');
    await database.query(`update nodes set provision_state = 'clean wait', maintenance = true where name = $1`, [name]);
    const { config } = await operator.call('GET', `/v1/lookup?addresses=${mac}`);
    const { agent_token } = config as { readonly agent_token: string };
    const beat = { callback_url: 'https://10.1.0.1:9999', agent_version: '11.3.0', agent_token };
    await operator.call('POST', `/v1/heartbeat/${name}`, beat);
  },
};

async function move({ operator, take }: Worker, from: FilledState, verb: string, to: string): Promise<void> {
  const { name } = take(from);
  await operator.provision(name, verb);
  await operator.waitForState(name, to);
}

/** Deals out nodes that were filled, each once. @throws Error when none is left */
export function takeFrom({ from, to }: { readonly from: number; readonly to: number }): Worker['take'] {
  const left = new Map(states.map((state) => [state, [] as number[]]));
  for (let number = from; number < to; number += 1) left.get(states[number % states.length] ?? 'enroll')?.push(number);
  return (state) => {
    const number = left.get(state)?.pop();
    if (number === undefined) throw new Error(`no node in state ${state} is left`);
    return filledNode(number);
  };
}
