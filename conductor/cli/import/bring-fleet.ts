import { type Fleet, type FleetNode, textIn } from '#conductor/cli/import/fleet.ts';
import { describeMissingLogin } from '#conductor/cli/import/prepare-fleet.ts';
import { readWorkHere } from '#conductor/cli/import/work-here.ts';
import { createNodes, type NodeResult } from '#conductor/cli/nodes/create-nodes.ts';
import { type ApiClient, getNode, pollMs } from '#conductor/cli/shell/api-client.ts';
import type { NodeField } from '#conductor/model/node-words.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { inParallel, limitAtOnce } from '#shared/in-parallel.ts';

/** A node of the other system, and how far it has come. */
export interface BroughtNode extends NodeResult {
  /** Its provision state here; `null` = it is not there. */
  readonly state: string | null;
}

interface Means {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly onResult: (node: BroughtNode) => void;
}

/** So many nodes are under way at once: most of the time they wait for their BMCs. */
const nodesAtOnce = 64;
/** So many requests to the conductor at once, for all nodes together. */
const requestsAtOnce = 16;
/** Time after which a node that does not rest is left, in milliseconds. */
const patienceMs = 600_000;
/** States that end by somebody else: an agent that calls, or a person. */
const waiting = /(?: wait| hold|call-back)$/;

/**
 * Makes what is not there yet, and takes each node as far as its goal. No machine is switched: `manage` and `adopt` read the
 * power. What is there already is left as it is, so that a run that broke off can be repeated.
 */
export async function bringFleet(fleet: Fleet, { client: all, clock, onResult }: Means): Promise<BroughtNode[]> {
  const inTurn = limitAtOnce({ most: requestsAtOnce });
  const client: ApiClient = { ...all, call: (...request) => inTurn(() => all.call(...request)) };
  for (const template of fleet.templates ?? []) {
    const found = await client.call('GET', `/v1/deploy_templates/${encodeURIComponent(template.name)}`);
    if (!found) await client.call('POST', '/v1/deploy_templates', template);
  }
  const nodes = fleet.nodes.filter(({ refused }) => refused === undefined);
  return inParallel(
    nodes,
    async (node) => {
      const [result] = await createNodes(client, [node], {
        dryRun: false,
        needsProof: true,
        onResult: () => undefined,
      });
      const brought = await bringNode(
        node,
        result ?? { name: node.name, outcome: 'failed', details: [] },
        client,
        clock,
      );
      onResult(brought);
      return brought;
    },
    { atOnce: nodesAtOnce },
  );
}

async function bringNode(node: FleetNode, result: NodeResult, client: ApiClient, clock: Clock): Promise<BroughtNode> {
  if (result.outcome === 'failed') return { ...result, state: null };
  const ident = encodeURIComponent(node.name);
  if (result.isOtherMachine) {
    const { provision_state: state } = await getNode(client, ident, ['provision_state']);
    return { ...result, details: ['it is another machine, and was left', ...result.details], state: state ?? null };
  }
  const details = [...result.details];
  try {
    const state = await takeToGoal(node, ident, { client, clock, isNew: result.outcome === 'created' });
    if (node.allocation && state === 'active') details.push(...(await allocate(node, client)));
    if (node.maintenance && result.outcome === 'created') {
      await client.call('PUT', `/v1/nodes/${ident}/maintenance`, { reason: node.maintenance.reason });
      details.push('maintenance');
    }
    return { ...result, details, state };
  } catch (error) {
    const { provision_state: state } = await getNode(client, ident, ['provision_state']);
    return { ...result, outcome: 'failed', details: [errorChain(error), ...details], state: state ?? null };
  }
}

interface Way {
  readonly client: ApiClient;
  readonly clock: Clock;
  /** This run has made the node, or found it in enroll: Baton has done nothing to its machine. */
  readonly isNew: boolean;
}

/** @throws AppError `command_failed` with what the conductor says of the node */
async function takeToGoal(node: FleetNode, ident: string, { client, clock, isNew }: Way): Promise<string> {
  const missing = node.goal === 'enroll' ? undefined : describeMissingLogin(node);
  if (missing !== undefined) throw new AppError('command_failed', missing);
  let at = isNew ? made : await restOf(ident, client, clock);
  for (;;) {
    const verb = nextVerb(at.state, node.goal);
    if (verb === undefined) return at.state;
    if (verb === 'adopt' && !isNew) {
      const work = await readWorkHere(client, ident);
      if (work.length > 0) {
        const kinds = work.join(', ');
        throw new AppError('command_failed', `Baton has worked on it since (${kinds}): it is left in ${at.state}`);
      }
    }
    if (at.maintenance) throw new AppError('command_failed', `it is in maintenance: ${verb} would wait for its end`);
    await client.call('PUT', `/v1/nodes/${ident}/states/provision`, { target: verb });
    await clock.sleep(pollMs);
    const next = await restOf(ident, client, clock);
    if (next.state === at.state || next.state.endsWith('failed')) {
      throw new AppError('command_failed', `${verb}: ${next.lastError ?? `the node is in ${next.state}`}`);
    }
    at = next;
  }
}

/** The verb that leads on; `undefined` = the node is where it is to be, or beyond. Pure. */
function nextVerb(state: string, goal: FleetNode['goal']): 'manage' | 'adopt' | undefined {
  if (goal === 'enroll') return undefined;
  if (state === 'enroll') return 'manage';
  return goal === 'active' && (state === 'manageable' || state === 'adopt failed') ? 'adopt' : undefined;
}

/** A node at rest. */
interface Rest {
  readonly state: string;
  readonly maintenance: boolean;
  readonly lastError: string | null;
}

/** Where a node begins that has just been made. */
const made: Rest = { state: 'enroll', maintenance: false, lastError: null };
const seenFields = [
  'provision_state',
  'target_provision_state',
  'reservation',
  'maintenance',
  'last_error',
] as const satisfies readonly NodeField[];

/** @throws AppError `command_failed` for a node that waits for somebody else, or does not rest in ten minutes */
async function restOf(ident: string, client: ApiClient, clock: Clock): Promise<Rest> {
  const end = clock.now().getTime() + patienceMs;
  for (;;) {
    const node = await getNode(client, ident, seenFields);
    const state = String(node.provision_state);
    if (node.target_provision_state === null && node.reservation === null) {
      return { state, maintenance: node.maintenance === true, lastError: node.last_error ?? null };
    }
    if (waiting.test(state)) throw new AppError('command_failed', `it is in ${state}, and was left`);
    if (clock.now().getTime() > end) {
      const holder = node.reservation === null ? '' : `, ${node.reservation} is at work on it`;
      throw new AppError('command_failed', `it is still in ${state} after ten minutes${holder}, and was left`);
    }
    await clock.sleep(pollMs);
  }
}

async function allocate({ name, allocation }: FleetNode, client: ApiClient): Promise<string[]> {
  if (!allocation) return [];
  const { allocation_uuid: held } = await getNode(client, encodeURIComponent(name), ['allocation_uuid']);
  if (held !== null && held !== undefined) return [];
  await client.call('POST', '/v1/allocations', { ...allocation, node: name });
  return [`allocation ${textIn(allocation, 'name') ?? allocation.uuid}`];
}
