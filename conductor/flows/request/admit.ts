import { kindStartedOn } from '#conductor/flows/plan/kind-on-node.ts';
import type { ProvisionRequest } from '#conductor/flows/request/provision-request.ts';
import { isBeside, requireNoFlow } from '#conductor/flows/request/require-no-flow.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { requireUnsealedTexts } from '#conductor/kernel/secrets/sealed-document.ts';
import type { FlowKindName, WipeRequest } from '#conductor/model/flows/flow-states.ts';
import {
  isWordOnRestored,
  legalVerbs,
  nextProvisionState,
  type ProvisionVerb,
  provisionVerbs,
  type VerbEvent,
} from '#conductor/model/provision-states.ts';
import { impossibleEvent } from '#conductor/nodes/change/apply-event.ts';
import { requireKnownMachine } from '#conductor/nodes/change/restored-node.ts';
import { requireUnowned, requireUnprotected } from '#conductor/nodes/node-guards.ts';
import { nodeLocked } from '#conductor/nodes/node-lock.ts';
import { requireNoOwedWipe, requireWipingVerb, wipeOf } from '#conductor/nodes/requested-wipe.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Facts that are read together with the node's open flow; the transaction that starts the work reads them again. */
export interface FlowFacts {
  readonly open: FlowRow | undefined;
  /** The site action that wants the work has ended, pauses, or is another conductor's. */
  readonly action: AppError | undefined;
  /** The node has moved on since the request was decided. */
  readonly seen: AppError | undefined;
}

/** Flow facts before the flow is read: the transaction reads it. */
export const noFlow: FlowFacts = { open: undefined, action: undefined, seen: undefined };

/** All that decides on a request beside the node's own row and the request. */
export interface AdmissionFacts {
  /** The conductor that works on the node, read only where the verb is not possible. */
  readonly holder: string | undefined;
  /** Whether a node without a setting of its own is cleaned. */
  readonly cleansByItself: boolean;
  /**
   * The first refusal that looking beyond the node's row has found (`lookInto`); `not read` where the row refuses already,
   * so that nothing outside is asked in vain.
   */
  readonly found: AppError | 'none' | 'not read';
  readonly flow: FlowFacts;
}

/** A request that may start, as all that it comes to. */
export interface Work {
  readonly event: VerbEvent;
  /** Kind of flow that begins; `undefined` = none. */
  readonly kind: FlowKindName | undefined;
  /** The wipe that the request ends with. */
  readonly wipe: WipeRequest | undefined;
  /** The operator says what a restored machine is; it is not touched. */
  readonly isWord: boolean;
  /** Automated cleaning is switched off: the node arrives at once. */
  readonly isSkipped: boolean;
  /** Fate of the flow under way. */
  readonly openFlow: 'none' | 'goes on' | 'aborted' | 'ended';
}

export type Admission =
  | { readonly refusal: AppError; readonly work?: undefined }
  | { readonly work: Work; readonly refusal?: undefined };

/** The part of a request that is judged. */
export type JudgedRequest = Pick<ProvisionRequest, 'verb' | 'wipe' | 'steps' | 'isUnowned'>;

interface Judged {
  readonly node: NodeRow;
  readonly request: JudgedRequest;
  readonly event: VerbEvent;
  readonly facts: AdmissionFacts;
}

/** @throws AppError the refusal */
type Rule = (judged: Judged) => void;

const possibleInMaintenance: ReadonlySet<VerbEvent> = new Set<VerbEvent>(['delete', 'abort', 'manage', 'unhold']);

/** Rules on the node's own row, in order: 409 before 400 where what is at work may end. */
const nodeRules = {
  restored: ({ node, request }) => requireKnownMachine(node, request.verb),
  wipeVerb: ({ request }) => requireWipingVerb(request),
  locked: ({ node, request, facts }) => {
    // clients try again on 409 and give up on 400
    if (!isPossible(node, request.verb) && facts.holder !== undefined) throw nodeLocked(node.uuid, facts.holder);
  },
  state: ({ node, request }) => {
    if (!isPossible(node, request.verb)) throw impossibleEvent(node, request.verb);
  },
  unowned: ({ node, request }) => {
    if (request.isUnowned) requireUnowned(node);
  },
  owedWipe: ({ node, request }) => requireNoOwedWipe(node, request.verb),
  protected: ({ node, event }) => {
    if (event === 'delete' || event === 'rebuild') requireUnprotected(node);
  },
  preserving: ({ node, request }) => void wipeOf(node, request),
  retired: ({ node, request, event }) => {
    // a wipe leaves a retired node manageable
    if (event !== 'provide' || !node.retired || wipeOf(node, request)) return;
    throw new AppError(
      'invalid_argument',
      `The ${request.verb} operation can't be performed on node ${node.uuid} because it is retired.`,
    );
  },
  maintenance: ({ node, request: { verb }, event }) => {
    if (!node.maintenance || possibleInMaintenance.has(event) || isWordOnRestored(node, event)) return;
    throw new AppError('invalid_argument', `Node ${node.uuid} is in maintenance: '${verb}' is not possible.`);
  },
  sealedArguments: ({ request }) => {
    for (const step of request.steps ?? []) requireUnsealedTexts(step.args, `${step.interface}.${step.step}`);
  },
} satisfies Record<string, Rule>;

/** Rules on what was read beside the row, in order. */
const factRules = {
  found: ({ facts: { found } }) => {
    // a request that nobody has looked into is not one without faults
    if (found === 'not read') throw new Error('a request was admitted without being looked into');
    if (found !== 'none') throw found;
  },
  action: ({ facts }) => {
    if (facts.flow.action) throw facts.flow.action;
  },
  seen: ({ facts }) => {
    if (facts.flow.seen) throw facts.flow.seen;
  },
  openFlow: ({ node, request, event, facts: { flow } }) => {
    if (!flow.open || event === 'unhold' || isWordOnRestored(node, event)) return;
    if (isBeside(flow.open)) requireNoFlow(node, flow.open, request.verb);
  },
} satisfies Record<string, Rule>;

/** Names of all rules; `judge-request.test.ts` has a request that each refuses. */
export type RuleName = keyof typeof nodeRules | keyof typeof factRules;

/**
 * Judges whether a request may start on the node, and as which work. Request, plan and the transaction that starts the
 * work are all judged here, so that a plan can't say yes to what a request is refused. Pure.
 */
export function admit(node: NodeRow, request: JudgedRequest, facts: AdmissionFacts): Admission {
  const refusal = refuse(node, request, facts, [...Object.values(nodeRules), ...Object.values(factRules)]);
  return refusal ? { refusal } : { work: workOf(node, request, facts) };
}

/** Judges by the node's own row alone. Pure. @param holder the conductor that works on it */
export function refuseByNode(node: NodeRow, request: JudgedRequest, holder: string | undefined): AppError | undefined {
  const facts = { holder, cleansByItself: false, found: 'not read', flow: noFlow } as const;
  return refuse(node, request, facts, Object.values(nodeRules));
}

function refuse(
  node: NodeRow,
  request: JudgedRequest,
  facts: AdmissionFacts,
  rules: readonly Rule[],
): AppError | undefined {
  const judged = { node, request, facts, event: provisionVerbs[request.verb].event };
  try {
    for (const rule of rules) rule(judged);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** Returns whether the node's state has the verb. */
export function isPossible(node: Pick<NodeRow, 'provisionState' | 'fault'>, verb: ProvisionVerb): boolean {
  return legalVerbs(node.provisionState, node.fault).includes(verb);
}

function workOf(node: NodeRow, request: JudgedRequest, facts: AdmissionFacts): Work {
  const { event } = provisionVerbs[request.verb];
  const wipe = wipeOf(node, request);
  const kind = kindToStart(node, event, wipe);
  const fate = event === 'unhold' ? 'goes on' : event === 'abort' ? 'aborted' : 'ended';
  return {
    event,
    kind,
    wipe,
    isWord: isWordOnRestored(node, event),
    isSkipped: kind === 'clean' && !(node.automatedClean ?? facts.cleansByItself),
    openFlow: facts.flow.open || event === 'unhold' ? fate : 'none',
  };
}

/** Returns the kind of flow that starts; `undefined`: none. @param wipe see `wipeOf` */
function kindToStart(node: NodeRow, event: VerbEvent, wipe: WipeRequest | undefined): FlowKindName | undefined {
  if (isWordOnRestored(node, event)) return undefined;
  // the instance comes back whose service had failed
  if (event === 'abort') return node.provisionState === 'service failed' ? 'restore' : undefined;
  // manageable again needs no proof: the BMC was proven when the node left enroll
  if (nextProvisionState(node.provisionState, event) === 'manageable') return undefined;
  return event === 'provide' && wipe ? 'wipe' : kindStartedOn(node, event);
}
