import type { ActionAnswer, ActionNodeAnswer } from '#conductor/api/actions.ts';
import type { Lab, LabNode } from '#test/lab/lab.ts';
import { waitForBeacon } from '#test/lab/proofs/beacon.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';
import type { NodeCluster } from '#test/lab/redeploy/node-cluster.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import type { Change } from '#test/simulators/kubernetes/store.ts';

/** The machine that is redeployed after the other: what it needs to know of itself and of that one. */
export interface SecondMachine {
  readonly lab: Lab;
  readonly node: LabNode;
  /** Boot id of the instance that is to go. */
  readonly bootId: string;
  readonly cluster: NodeCluster;
}

export interface WatchedSecond {
  /** When its teardown began, in milliseconds since 1970. */
  readonly times: { cordoned?: number };
  end(): void;
}

const limitMs = 30 * 60_000;

/** Looks at its object behind the API server from now on. */
export function watchSecond({ node, cluster }: SecondMachine): WatchedSecond {
  const times: WatchedSecond['times'] = {};
  const end = cluster.simulator.store.subscribe(({ plural, object }: Change) => {
    const isCordoned =
      plural === 'nodes' && object.metadata.name === node.name && object.spec?.['unschedulable'] === true;
    if (isCordoned) times.cordoned ??= Date.now();
  });
  return { times, end };
}

/** The first machine's name comes back with the boot that it had before: the action has to go on waiting. */
export async function proveImpostor(
  { lab, cluster }: SecondMachine,
  first: string,
  { oldBootId, second }: { readonly oldBootId: string; readonly second: WatchedSecond },
): Promise<Proof> {
  cluster.joinAsImpostor(oldBootId);
  const doing = await waitUntil(
    `${first} to be told from what it was`,
    async () => {
      const text = (await nodesOf(lab)).find(({ name }) => name === first)?.doing ?? '';
      return text.includes('of before the deploy') ? text : undefined;
    },
    { timeoutMs: limitMs, everyMs: 500, signal: lab.closing },
  );
  return {
    what: 'a kubelet that reports the boot of before does not count, and the next machine is left alone',
    holds: second.times.cordoned === undefined,
    seen: doing.replace(/^.*waiting for /, ''),
  };
}

/** The second machine's turn, once the first was Ready. */
export async function proveTurn(
  { lab, node, bootId, cluster }: SecondMachine,
  { readyAt, second }: { readonly readyAt: number; readonly second: WatchedSecond },
): Promise<Proof[]> {
  const after = await waitForBeacon(lab, node, limitMs, bootId);
  cluster.joinKubernetes(node.name, after.bootId);
  second.end();
  const { cordoned = 0 } = second.times;
  return [
    {
      what: `${node.name} is drained only when the first is Ready as its new instance`,
      holds: cordoned >= readyAt,
      seen: `${((cordoned - readyAt) / 1000).toFixed(1)} s after it`,
    },
    {
      what: `${node.name} is back with a new instance`,
      holds: after.bootId !== bootId,
      seen: `boot ${bootId} is now ${after.bootId}`,
    },
  ];
}

async function nodesOf(lab: Lab): Promise<readonly ActionNodeAnswer[]> {
  const actions = await lab.api.call<ActionAnswer[]>('GET', '/api/v1.0/actions');
  const open = actions.find(({ ended_at: endedAt }) => endedAt === null);
  if (!open) return [];
  return (await lab.api.call<{ nodes: ActionNodeAnswer[] }>('GET', `/api/v1.0/actions/${open.id}/nodes`)).nodes;
}
