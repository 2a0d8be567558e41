import { type FaultFacts, faultAdvice } from '#conductor/flows/watch/fault-advice.ts';
import { flowKinds, restsIn } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName, FlowState } from '#conductor/model/flows/flow-states.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { type Fault, type FaultCode, isSituation } from '#shared/errors/fault-codes.ts';

export interface AdviceFacts extends Pick<FaultFacts, 'node' | 'disk' | 'lastBoot' | 'modelBoot' | 'power'> {
  readonly provisionState: ProvisionState;
  readonly inMaintenance: boolean;
  readonly kind: FlowKindName;
  readonly state: FlowState;
  readonly held: string | null;
  readonly onHold: string | null;
  readonly abortRequested: string | null;
  /** The main step that has failed, or is at work. */
  readonly step: AdviceStep | undefined;
  /** The agent's logs of this flow are kept. */
  readonly hasLogs: boolean;
  /** The action that has the wipe done which the node owes; absent = it owes none. */
  readonly owedWipe?: string | undefined;
  /** Changes of the node's clusters that are left to be undone by hand. */
  readonly byHand?: readonly string[];
}

export interface AdviceStep {
  /** `deploy.write_image` */
  readonly name: string;
  /** Code of what it failed by or waits for, and its subject; `null` = it does neither. */
  readonly fault: Fault | null;
  readonly waitedMs: number;
  /** The whole time that it may wait; `undefined` = no limit. */
  readonly limitMs: number | undefined;
  /** It waits because of a fault, and is tried again. */
  readonly isRetry: boolean;
}

/** A boot of a big machine takes minutes; what waits longer, or for half of its time, is worth a look. */
export const patienceMs = 5 * 60_000;

/** Reads a code from the database: a newer release may have recorded one that is not known here, an older one none. */
export function knownFault(fault: Fault | null): Fault {
  const code: string = fault?.code ?? 'unknown';
  const isKnown = isSituation(code) || Object.hasOwn(faultAdvice, code);
  return { ...fault, code: isKnown ? (code as FaultCode) : 'unknown' };
}

/**
 * Advises the operator what to do next, in a few sentences; `null` while there is nothing to do. For flows that have
 * failed or were aborted (as long as the node rests where that has left it), that rest, or that wait for too long.
 */
export function adviceFor(facts: AdviceFacts): string | null {
  const { node, step } = facts;
  if (facts.state === 'failed' || facts.state === 'aborted') return afterTheEnd(facts);
  if (facts.state === 'succeeded') return describeOwed(facts);
  if (facts.held !== null) {
    return `Nothing happens while the node is in maintenance: \`baton maintenance off ${node}\` continues the flow.`;
  }
  if (facts.onHold !== null) return `\`baton unhold ${node}\` continues it, \`baton abort ${node}\` ends it.`;
  if (facts.abortRequested !== null && step) {
    return step.name.startsWith('cluster.')
      ? `It stops when the look of ${step.name} that is under way has ended.`
      : `It stops when ${step.name} has ended, which must not be interrupted.`;
  }
  if (!step?.fault) return null;
  if (facts.power) return adviceOn(step.fault, facts, false);
  const isRefused = facts.lastBoot?.event === 'refused' && step.fault.code === 'ramdisk_silent';
  if (!(step.isRetry || isRefused || waitsTooLong(step))) return null;
  return adviceOn(step.fault, facts, false);
}

function adviceOn(
  fault: Fault | null,
  { node, disk, lastBoot, modelBoot, power }: AdviceFacts,
  isOver: boolean,
): string | null {
  const { code, subject } = knownFault(fault);
  return faultAdvice[code]({ node, subject, disk, lastBoot, modelBoot, power, isOver });
}

function describeOwed({ owedWipe }: AdviceFacts): string | null {
  return owedWipe === undefined ? null : `A wipe of its disks is still owed: ${owedWipe}.`;
}

function waitsTooLong({ waitedMs, limitMs = Infinity }: AdviceStep): boolean {
  return waitedMs > Math.min(patienceMs, limitMs / 2);
}

function afterTheEnd(facts: AdviceFacts): string | null {
  const { node, step } = facts;
  const kind = flowKinds[facts.kind];
  const { afterFailure } = kind;
  if ((restsIn(kind) ?? facts.provisionState) !== facts.provisionState) return describeOwed(facts);
  const leave =
    facts.inMaintenance && !afterFailure.inMaintenance
      ? `Take it out of maintenance: \`baton maintenance off ${node}\`.`
      : '';
  const onward = afterFailure.next.replaceAll('NODE', node);
  const next = facts.state === 'failed' ? `Then ${onward}.` : `${onward.charAt(0).toUpperCase()}${onward.slice(1)}.`;
  const { byHand = [] } = facts;
  return [
    facts.state === 'failed' ? (adviceOn(step?.fault ?? null, facts, true) ?? '') : '',
    leave,
    next,
    facts.kind === 'wipe' || facts.kind === 'teardown' ? '' : (describeOwed(facts) ?? ''),
    byHand.length === 0 ? '' : `Nothing is undone automatically; left to do by hand: ${byHand.join('; ')}.`,
    facts.hasLogs ? `\`baton logs ${node}\` has the agent's logs.` : '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}
