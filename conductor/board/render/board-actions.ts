import type { FlowSummaryView, FlowView } from '#conductor/api/flows.ts';
import type { ApiRequest } from '#conductor/board/data/ask-api.ts';
import { type Correction, correctionsFor } from '#conductor/board/render/board-corrections.ts';
import type { BoardNode, BoardRow } from '#conductor/board/render/render-board.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { legalVerbs, type ProvisionVerb, provisionStates } from '#conductor/model/provision-states.ts';

/** An action that an operator may take, in one request a node. Pure. */
export interface BoardAction {
  readonly title: string;
  /** The consequence of the action, for an operator who is asked again. */
  readonly meaning: string;
  /** The target of the plan that says what is destroyed, and whether its hash goes with the request. */
  readonly plan?: { readonly target: 'active' | 'rebuild' | 'provide'; readonly isBinding: boolean };
  readonly request: ApiRequest;
  /** Whether the number of nodes has to be typed first, where they are several: what runs on them would end. */
  readonly isCounted?: boolean;
  /** The text that the operator is asked for, and the key of the request's body that has it. */
  readonly note?: { readonly label: string; readonly key: string };
  /** Values that the operator types, of which the request's JSON patch is made. */
  readonly fields?: readonly Correction[];
}

/** A node, and its flow in so far as it counts here. */
export interface Subject {
  readonly node: BoardNode;
  readonly flow:
    | (Pick<FlowView | FlowSummaryView, 'kind' | 'ended_at'> &
        Partial<Pick<FlowSummaryView, 'status' | 'step' | 'step_uuid' | 'may_skip' | 'code'>>)
    | undefined;
  /** The thing that an open flow waits for until somebody says `unhold`. */
  readonly onHold: string | null;
}

/**
 * Joins a node with its last flow: as the fleet has it while that is under way, which says what it waits for; once it has
 * ended as the node's page has read it, with the code by which the fleet knows the failure. Pure.
 */
export function joinSubject(
  node: BoardNode,
  read: FlowView | undefined,
  followed: FlowSummaryView | undefined,
): Subject {
  const onHold = read?.on_hold ?? null;
  if (!read || read.uuid !== followed?.uuid) return { node, flow: read ?? followed, onHold };
  return { node, flow: followed.ended_at === null ? followed : { ...read, code: followed.code }, onHold };
}

type Verb = Pick<BoardAction, 'title' | 'meaning' | 'plan'>;

/** Verbs of `PUT states/provision` that need nothing but the word. */
const verbs: Partial<Record<ProvisionVerb, Verb>> = {
  manage: {
    title: 'Manage',
    meaning: 'The conductor tries the BMC’s credentials; the node leaves what it was ready for.',
  },
  inspect: {
    title: 'Inspect',
    meaning:
      'The machine boots the ramdisk, which reads its hardware; or its BMC is asked, as its inspect_interface says.',
  },
  provide: {
    title: 'Make available',
    meaning: 'The node is cleaned as its settings say, and may then be deployed.',
    plan: { target: 'provide', isBinding: true },
  },
  active: {
    title: 'Deploy',
    meaning: 'The image of its instance_info is written, and the machine boots it.',
    plan: { target: 'active', isBinding: true },
  },
  rebuild: {
    title: 'Rebuild',
    meaning: 'The instance ends: the image is written again, and the machine boots it.',
    plan: { target: 'rebuild', isBinding: true },
  },
  deleted: {
    title: 'Undeploy',
    meaning: 'The instance ends: the machine is switched off, and cleaned as below.',
    plan: { target: 'provide', isBinding: false },
  },
};

/** Words on the machine of a node from a dump, for Baton has not seen it since. */
const wordsOnRestored = {
  adopt: {
    title: 'Adopt as it runs',
    meaning: 'An instance runs on the machine: the node becomes active. The machine is not touched.',
  },
  manage: {
    title: 'Manage as it is',
    meaning: 'No instance runs on the machine: the node becomes manageable. The machine is not touched.',
  },
} as const;

const powerTargets = {
  'power on': { title: 'Power on', meaning: 'The BMC switches the machine on.' },
  'power off': { title: 'Power off', meaning: 'The machine loses its power at once, whatever runs on it.' },
  rebooting: { title: 'Reboot', meaning: 'The machine is reset at once, whatever runs on it.' },
} as const;

/** Finds the actions that may be done with the node now, by names for the page, in their order. */
export function actionsFor({ node, flow, onHold }: Subject): Readonly<Record<string, BoardAction>> {
  const path = `v1/nodes/${node.uuid}`;
  const provision = (target: string): ApiRequest => ({
    method: 'PUT',
    path: `${path}/states/provision`,
    body: { target },
  });
  const isOpen = flow !== undefined && flow.ended_at === null;
  const actions: Record<string, BoardAction> = {};
  const isRestored = node.fault === nodeFaults.restored;
  if (isRestored) {
    for (const [verb, described] of Object.entries(wordsOnRestored)) {
      actions[verb] = { ...described, request: provision(verb) };
    }
  } else if (isOpen && onHold !== null) {
    const meaning = `It rests for ${onHold}. The ${flow.kind} goes on.`;
    actions['unhold'] = { title: 'Go on', meaning, request: provision('unhold') };
  }
  if (isOpen && !isRestored) {
    Object.assign(actions, pushesOf(path, flow));
    actions['abort'] = {
      title: `Abort the ${flow.kind}`,
      meaning:
        'Steps that have not begun are skipped, and the machine is made safe. What is done is not undone: a disk that was being written stays half-written.',
      request: provision('abort'),
      isCounted: true,
    };
  } else if (!isRestored) {
    const corrections = correctionsFor(node.driver, flow?.code ?? '');
    if (corrections) actions['correct'] = { ...corrections, request: { method: 'PATCH', path, body: [] } };
    const known = provisionStates.find((each) => each === node.provision_state);
    const legal = known ? legalVerbs(known) : [];
    for (const [verb, described] of Object.entries(verbs)) {
      if (!legal.includes(verb as ProvisionVerb)) continue;
      actions[verb] = { ...described, request: provision(verb) };
    }
    for (const [target, { title, meaning }] of Object.entries(powerTargets)) {
      const request = { method: 'PUT', path: `${path}/states/power`, body: { target } };
      if (node.power_state !== target) actions[target.replace(' ', '-')] = { title, meaning, request, isCounted: true };
    }
  }
  actions['maintenance'] = node.maintenance
    ? {
        title: 'End maintenance',
        meaning: 'The conductor works on the node again.',
        request: { method: 'DELETE', path: `${path}/maintenance` },
      }
    : {
        title: 'Begin maintenance',
        meaning:
          'The conductor leaves the node alone: nothing more is begun, a flow is held, no time runs out, and its power is not compared.',
        note: { label: 'Note for others: who has it, and why', key: 'reason' },
        request: { method: 'PUT', path: `${path}/maintenance`, body: { reason: 'from the board' } },
      };
  return actions;
}

/** Actions that come first, where something has failed or rests, the likelier before. */
const remedies: readonly string[] = ['unhold', 'adopt', 'retry', 'rebuild', 'active', 'provide', 'inspect', 'manage'];
/** Actions that a node at rest is there for, by its state. */
const onward: Readonly<Record<string, string>> = { available: 'active', manageable: 'provide', enroll: 'manage' };

/**
 * Finds the action that comes next, if any: what goes on, or what tries again; never one that ends an instance in
 * service. Pure.
 */
export function primaryAction(subject: Subject): string | undefined {
  const { node, flow, onHold } = subject;
  const actions = actionsFor(subject);
  const isOpen = flow !== undefined && flow.ended_at === null;
  const isBroken = node.fault === nodeFaults.restored || /failed|error/.test(node.provision_state);
  if (isOpen && onHold === null) return 'retry' in actions && flow.status !== 'waiting' ? 'retry' : undefined;
  if (isOpen || isBroken) return remedies.find((name) => name in actions);
  const next = onward[node.provision_state];
  return next !== undefined && next in actions ? next : undefined;
}

const waits: ReadonlySet<string> = new Set<FlowSummaryView['status']>(['retrying', 'slow', 'waiting']);

/** Finds the actions that move a flow that waits. */
function pushesOf(
  path: string,
  { status, step, step_uuid: stepUuid, may_skip: maySkip, code }: NonNullable<Subject['flow']>,
) {
  const actions: Record<string, BoardAction> = {};
  if (status === undefined || !waits.has(status)) return actions;
  if (code === 'power_held') {
    actions['release-power'] = {
      title: 'Release the power',
      meaning:
        'Only where the console of the machine, or of its BMC, shows that nothing is under way: firmware that is being written when the power goes leaves a machine that does not start.',
      request: { method: 'POST', path: `${path}/flow/release_power` },
    };
  }
  // a call is under way, which only an abort ends
  if (status === 'slow' && code === 'bmc_silent') return actions;
  actions['retry'] = {
    title: 'Try now',
    meaning: 'What it waits for is looked at, or tried again, at once. When it gives up stays as it is.',
    request: { method: 'POST', path: `${path}/flow/retry` },
  };
  if (maySkip === true && stepUuid) {
    actions['skip'] = skipAction(path, step ?? 'the step', stepUuid);
  }
  return actions;
}

/** @param path of the node */
export function skipAction(path: string, step: string, stepUuid: string): BoardAction {
  return {
    title: `Skip ${step}`,
    meaning: 'The step is left out of this flow. The node’s history says who has skipped it.',
    request: { method: 'POST', path: `${path}/flow/skip`, body: { step: stepUuid } },
  };
}

/** An action and the nodes of these rows that may take it. */
export interface FleetAction extends Pick<BoardAction, 'title' | 'meaning' | 'plan' | 'note' | 'fields' | 'isCounted'> {
  readonly nodes: readonly { readonly node: BoardNode; readonly request: ApiRequest }[];
}

/** Lists by title each action that one of the rows' nodes may take, those of most nodes first. */
export function actionsForRows(rows: readonly BoardRow[]): Readonly<Record<string, FleetAction>> {
  const found: Record<string, { action: BoardAction; nodes: { node: BoardNode; request: ApiRequest }[] }> = {};
  for (const { node, flow } of rows) {
    if (!node) continue;
    const onHold = flow?.status === 'held' && !node.maintenance ? (flow.reason ?? 'a word') : null;
    for (const action of Object.values(actionsFor({ node, flow, onHold }))) {
      found[action.title] ??= { action, nodes: [] };
      found[action.title]?.nodes.push({ node, request: action.request });
    }
  }
  const byCount = Object.entries(found).toSorted(([, a], [, b]) => b.nodes.length - a.nodes.length);
  return Object.fromEntries(
    byCount.map(([title, { action, nodes }]) => [
      title,
      {
        title,
        meaning: action.meaning,
        ...(action.plan ? { plan: action.plan } : {}),
        ...(action.note ? { note: action.note } : {}),
        ...(action.fields ? { fields: action.fields } : {}),
        ...(action.isCounted ? { isCounted: true } : {}),
        nodes,
      },
    ]),
  );
}
