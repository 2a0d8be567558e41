import { hideInAnswers } from '#conductor/agents/node-dump.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { nodeSecretTexts } from '#conductor/kernel/secrets/node-secrets.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { loggedIds } from '#conductor/model/request-ids.ts';
import { findHistoryEntry } from '#conductor/nodes/node-history.ts';
import { holdLease, type Lease } from '#conductor/nodes/node-lease.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { hideSecrets } from '#shared/secret-words.ts';

/** A step's call to the outside, from its start to its end. */
export interface CallAtWork {
  /** Aborts once the flow's abort was asked for and the step may be broken off. */
  readonly signal: AbortSignal;
  /** Lets an abort break the step off from now on. */
  permit(): void;
  end(): void;
}

/** The outside call that a conductor is at for one node, which an operator's abort cancels. */
export interface CallsAtWork {
  begin(flowUuid: string): CallAtWork;
  /** Looks whether an abort was asked for, since something about the node has changed. */
  look(): void;
}

/** The flow and the step that something is run for. */
export interface Work {
  readonly context: EngineContext;
  readonly lease: Lease;
  readonly node: NodeRow;
  readonly flow: FlowRow;
  readonly session: AgentSessionRow | null;
  /** Version of what was read: `NodeWork.version`. */
  readonly version: string;
  readonly ports: () => Promise<readonly PortRow[]>;
  readonly signal: AbortSignal;
  /** Place of the call that is under way, which an abort cancels. */
  readonly calls: CallsAtWork;
}

/** Notes at the step that the BMC has not answered this request for a while; `undefined` takes the note back. */
type NoteSilence = (tx: Transaction, step: FlowStepRow, request: string | undefined) => Promise<void>;

export async function loadStepContext(
  work: Work,
  { step, isRepeated, noteSilence }: Pick<StepContext, 'step' | 'isRepeated'> & { readonly noteSilence: NoteSilence },
): Promise<StepContext> {
  const { context, node, signal } = work;
  const { db } = context;
  const session = work.session ?? undefined;
  const hide = hideSecrets(() => nodeSecretTexts(context.secrets, node, step.args));
  const about = { node: node.uuid, flow: work.flow.uuid, ...loggedIds(work.flow), step: stepTitle(step) };
  const gone = session?.callbackUrl || !step.inBand ? undefined : await ask(findPowerSince(db, work.flow));
  let log: Log | undefined;
  // one after the other: what takes a note back must not be overtaken by it
  let noted: Promise<void> = Promise.resolve();
  const note = (request: string | undefined): void => {
    const write = () =>
      db.transaction(async (tx) => {
        await holdLease(tx, work.lease);
        await noteSilence(tx, step, request);
      });
    noted = noted.then(write).catch((error: unknown) => {
      context.log.debug({ ...about, err: error }, 'the silence of the BMC is not noted');
    });
  };
  const onSilent = (request: string): (() => void) => {
    context.log.warn({ ...about, request: hide(request) }, 'the BMC has not answered for a while');
    note(hide(request));
    return () => note(undefined);
  };
  return {
    ...context,
    get log() {
      return (log ??= context.log.child(about));
    },
    node,
    ports: () => ask(work.ports()),
    flow: work.flow,
    step,
    isRepeated,
    // the step that holds the machine's power knows when it may switch it
    bmc: () => {
      const own = node.powerHold?.step === step.uuid ? { ...node, powerHold: null } : node;
      return context.drivers.connect(own, about, onSilent);
    },
    ask,
    keepPower: () => Promise.resolve(),
    noteOff: () => Promise.resolve(),
    session,
    agent: () => {
      if (gone) throw new AppError('agent_error', gone, { situation: 'power_switched' });
      return hideInAnswers(context.agents.clientFor(session, signal), hide);
    },
    hide,
    signal,
    record: (write) =>
      ask(
        db.transaction(async (tx) => {
          await holdLease(tx, work.lease);
          return write(tx);
        }),
      ),
  };
}

/**
 * Finds who had its power switched, or has found it switched, amid the flow: the agent that was there ended with it.
 */
async function findPowerSince(db: Queryable, { nodeUuid, startedAt }: FlowRow): Promise<string | undefined> {
  if (nodeUuid === null) return undefined;
  const last = await findHistoryEntry(db, nodeUuid, { eventType: 'power', since: startedAt });
  return last && `no agent is there any more: ${last.event} at ${last.createdAt.toISOString()}`;
}

/** @throws AppError `database_error` where the database, and not what was asked of it, is at fault. */
async function ask<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('database_error', 'use the database', { cause: error });
  }
}
