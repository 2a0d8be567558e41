import type { AgentClient } from '#conductor/agents/agent-client.ts';
import { hideInAnswers } from '#conductor/agents/node-dump.ts';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { nodeSecretTexts, openStepArgs } from '#conductor/kernel/secrets/node-secrets.ts';
import type { FlowKind } from '#conductor/model/flows/flow-kind.ts';
import { type PlannedStep, stepTitle } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { findHistoryEntry } from '#conductor/nodes/node-history.ts';
import { holdLease, type Lease } from '#conductor/nodes/node-lease.ts';
import type { NodeChange } from '#conductor/nodes/node-store.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { Fault, FaultCode } from '#shared/errors/fault-codes.ts';
import type { Log } from '#shared/log.ts';
import { type Hide, hideSecrets } from '#shared/secret-words.ts';
import type { StepDefinition, StepOutcome } from '#shared/steps/define-step.ts';
import type { HardwareManagerVersion, StepInterface, StepKind } from '#shared/wire/step.ts';

/** Means that a conductor's step may use; facts are as of the moment at which the step is run or resumed. */
export interface StepContext
  extends Pick<
    EngineContext,
    | 'db'
    | 'database'
    | 'log'
    | 'clock'
    | 'config'
    | 'secrets'
    | 'drivers'
    | 'networks'
    | 'inspectionRules'
    | 'pluginFiles'
    | 'nudge'
    | 'steps'
    | 'stopping'
  > {
  readonly node: NodeRow;
  /** Most steps need none. @throws AppError `database_error` */
  readonly ports: () => Promise<readonly PortRow[]>;
  readonly flow: FlowRow;
  readonly step: FlowStepRow;
  /** It may have been run before: a conductor died, or something passing was in its way. */
  readonly isRepeated: boolean;
  /** @throws AppError `invalid_argument` for driver_info that has become wrong. */
  readonly bmc: () => Bmc;
  /** Reads facts. @throws AppError `database_error` */
  readonly ask: <T>(answer: Promise<T>) => Promise<T>;
  /** Records that power is held, in a step that must not lose it, before something begins that is not asked of the BMC. */
  readonly keepPower: () => Promise<void>;
  /** Records that the machine is off for the step's own start of it: a conductor that takes over repeats none. */
  readonly noteOff: () => Promise<void>;
  readonly session: AgentSessionRow | undefined;
  /** @throws AppError `agent_error` when no agent has called in. */
  readonly agent: () => AgentClient;
  /** Others' words without the node's secrets. */
  readonly hide: Hide;
  /** Aborts when the conductor stops or has lost its lease on the node. */
  readonly signal: AbortSignal;
  /** Writes facts, fenced by the lease. */
  readonly record: <T>(write: (tx: Transaction) => Promise<T>) => Promise<T>;
}

/**
 * Writes facts, in a transaction that holds the lease; answers what of the node's own row changes, which is written by who
 * has called it.
 */
export type WriteFacts = (tx: Transaction) => Promise<NodeChange>;

/** Beyond what agents' steps answer. */
export type ConductorStepOutcome =
  | StepOutcome
  | (Extract<StepOutcome, { kind: 'wait' }> & {
      /** Its limit takes the place of that of the step's waits before; else the first one's stays. */
      readonly hasOwnLimit?: true;
    })
  /** Success, with facts that are written together with it. */
  | { readonly kind: 'done'; readonly output?: unknown; readonly record: WriteFacts }
  | {
      readonly kind: 'done';
      readonly output?: unknown;
      /** Takes the place of every step that has not started. */
      readonly plan: readonly PlannedStep[];
      readonly hardwareManagerVersion: HardwareManagerVersion;
    }
  /** It rests without a time limit until an operator's word. */
  | { readonly kind: 'hold'; readonly reason: string; readonly code: FaultCode }
  /** It has to be run once more, after `checkEveryMs`, until `timeoutMs` from the first try. */
  | ({ readonly kind: 'again'; readonly reason: string } & Fault & {
        readonly timeoutMs: number;
        readonly checkEveryMs: number;
      });

/** A conductor's step: the shared definition, with the wider outcome. */
export type ConductorStep = Pick<StepDefinition<StepContext>, 'step' | 'description'> & {
  /** `cluster`: what is done to the clusters that a node is part of; no driver's or agent's. */
  readonly interface: StepInterface | 'cluster';
  readonly run: (context: StepContext) => Promise<ConductorStepOutcome>;
  readonly resume?: (context: StepContext) => Promise<ConductorStepOutcome>;
  /**
   * Milliseconds from the step's start, of an agent's from its last word, in which a loss of power may break the machine;
   * `undefined` = it never does. Until the step has ended by its own word nothing else switches power: no failure, abort,
   * verb or other flow.
   */
  readonly mustNotLosePower?: (context: StepContext) => number | undefined | Promise<number | undefined>;
};

/**
 * An out-of-band step: what a hardware type's BMC can do, at the operator's word or by its own priority. It runs like
 * any conductor's step, with its arguments in `context.step.args`. An outcome `reboot` brings the ramdisk back where the
 * flow has one running; before the ramdisk boots (priority above 100) the step sees to its own reset.
 */
export interface DriverStep
  extends ConductorStep,
    Pick<StepDefinition<never>, 'interface' | 'args' | 'abortable' | 'priorities'> {
  readonly interface: StepDefinition<never>['interface'];
  /** Only where the node's interface has this name: else the step of the same name is the agent's. */
  readonly interfaceName?: string;
  /** Whether this node's BMC can do it; asked of the connection object, not of the BMC. */
  isOffered(bmc: Bmc): boolean;
}

type NamedStep = Pick<FlowStepRow, 'interface' | 'step' | 'inBand' | 'origin'>;
export type StepRunner = Pick<ConductorStep, 'run' | 'resume' | 'mustNotLosePower'>;

/** Steps that this release knows to run. */
export interface StepTable {
  /**
   * Finds what runs a flow's step: a step of the conductor's, or the agent; `undefined` = this release knows nothing
   * that does.
   */
  find(step: NamedStep, kind: FlowKind): StepRunner | undefined;
  /** Lists the out-of-band steps that a node's BMC offers in flows of that kind. */
  offered(bmc: Bmc, kind: StepKind): readonly DriverStep[];
}

/** The step's arguments, secrets in clear. @throws AppError `invalid_argument` when a key is missing. */
export function stepArgs({ secrets, node, step }: Pick<StepContext, 'secrets' | 'node' | 'step'>): JsonObject {
  return openStepArgs(secrets, node.uuid, step.args);
}

/**
 * Reads what a BMC answers; `undefined` where it can't, which the log has: as a warning, unless it doesn't support it
 * at all.
 */
export async function tryToRead<Read>(
  { signal, log }: Pick<StepContext, 'signal' | 'log'>,
  what: string,
  read: () => Promise<Read>,
): Promise<Read | undefined> {
  try {
    return await read();
  } catch (error) {
    if (signal.aborted) throw error;
    const level = errorCode(error) === 'not_supported' ? 'debug' : 'warn';
    log[level]({ err: error }, `${what} could not be read`);
    return undefined;
  }
}

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
  const about = { node: node.uuid, flow: work.flow.uuid, step: stepTitle(step) };
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
